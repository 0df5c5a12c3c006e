import type { AwsView } from '../../../test/aws/admin/admin.ts';
import type { ProfileView, RoleView } from '../../../test/aws/admin/views.ts';

/** The label and the values of one field of an AWS resource. The demo prints each value on a line of its own. */
export type ResourceField = readonly [label: string, values: readonly string[]];

/**
 * Lists the Fargate profiles and IAM roles in AWS. Leaves out those that do not belong to the manager, such as
 * Fargate's service-linked role.
 */
export function listAwsResources(snapshot: AwsView): readonly (readonly ResourceField[])[] {
  const profiles = snapshot.profiles.filter(({ foreign }) => !foreign);
  const roles = snapshot.roles.filter(({ foreign }) => !foreign);
  return [
    ...(profiles.length === 0 ? [[['Fargate profiles', ['none']]] as const] : profiles.map(profileFields)),
    ...(roles.length === 0 ? [[['IAM roles', ['none']]] as const] : roles.map(roleFields)),
  ];
}

const profileFields = (profile: ProfileView): readonly ResourceField[] => [
  ['Fargate profile', [profile.name]],
  ['  status', [profile.status]],
  ['  EKS cluster', [`${profile.cluster} in ${profile.region}`]],
  ['  role', [profile.podExecutionRoleArn]],
  ['  subnets', profile.subnets],
  ['  tags', formatTags(profile.tags)],
];

const roleFields = (role: RoleView): readonly ResourceField[] => [
  ['IAM role', [role.name]],
  ['  policies', role.attachedPolicies],
  ['  tags', formatTags(role.tags)],
];

const formatTags = (tags: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(tags)
    .map(([key, value]) => `${key} = ${value}`)
    .toSorted();
