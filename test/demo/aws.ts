import type { WorldView } from '../aws/admin.ts';
import type { ProfileView, RoleView } from '../aws/views.ts';

/** A label, and its values one below the other. */
export type Entry = readonly [label: string, values: readonly string[]];

/**
 * The profiles and roles in AWS, each as entries of which the first names it. What is there without anybody having asked
 * for it, the service-linked role of EKS, is left out.
 */
export function whatIsThere(world: WorldView): readonly (readonly Entry[])[] {
  const profiles = world.profiles.filter(({ foreign }) => !foreign);
  const roles = world.roles.filter(({ foreign }) => !foreign);
  return [
    ...(profiles.length === 0 ? [[['Fargate profiles', ['none']]] as const] : profiles.map(entriesOfProfile)),
    ...(roles.length === 0 ? [[['IAM roles', ['none']]] as const] : roles.map(entriesOfRole)),
  ];
}

const entriesOfProfile = (profile: ProfileView): readonly Entry[] => [
  ['Fargate profile', [profile.name]],
  ['  status', [profile.status]],
  ['  EKS cluster', [`${profile.cluster} in ${profile.region}`]],
  ['  role', [profile.podExecutionRoleArn]],
  ['  subnets', profile.subnets],
  ['  tags', linesOfTags(profile.tags)],
];

const entriesOfRole = (role: RoleView): readonly Entry[] => [
  ['IAM role', [role.name]],
  ['  policies', role.attachedPolicies],
  ['  tags', linesOfTags(role.tags)],
];

const linesOfTags = (tags: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(tags)
    .map(([key, value]) => `${key} = ${value}`)
    .toSorted();
