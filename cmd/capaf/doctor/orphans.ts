import { keyText, type KubeObject } from 'controller-runtime/client';
import { shellCommand } from 'controller-runtime/text';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { recordOf } from '../../../controllers/shared/record.ts';
import { roleNameOf } from '../../../controllers/shared/profile-names.ts';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { OWNER_TAG, ownerTagValue } from '../../../pkg/fargate/tags/tag-keys.ts';
import type { AwsFacts, TaggedRole } from './read-aws.ts';
import { decoded, orNone } from './read-cluster.ts';

/** A resource in AWS that has this provider's tags, but that no AWSFargateProfile uses. */
export interface Orphan {
  /** Kind and name, such as `Role web`. */
  readonly name: string;
  readonly message: string;
  /** What `commands` are for. If undefined, they delete the resource. */
  readonly fix?: string;
  /** Commands for a POSIX shell. capaf does not run them. */
  readonly commands: readonly string[];
}

/** Lists profiles before roles, because a role must not be deleted before its profile. */
export function findOrphans(facts: Pick<AwsFacts, 'clusters' | 'roles'>, objects: readonly KubeObject[]) {
  const { clusters, roles } = facts;
  const profiles = clusters.flatMap((each) => orNone(each.profiles));
  const owners = new Set(objects.map(({ metadata: { namespace = '', name } }) => ownerTagValue({ namespace, name })));
  const isOrphan = ({ tags, status }: FargateProfile): boolean =>
    tags[OWNER_TAG] !== undefined && !owners.has(tags[OWNER_TAG]) && status !== 'DELETING';
  const used = new Set<string>(
    profiles.filter((profile) => !isOrphan(profile)).map((each) => each.podExecutionRoleArn),
  );
  const byNamespace = Map.groupBy(objects, ({ metadata }) => metadata.namespace ?? '');
  const namedIn = new Map([...byNamespace].map(([namespace, ofNamespace]) => [namespace, rolesNamedIn(ofNamespace)]));
  const isRoleNeeded = ({ name, arn, namespace }: TaggedRole): boolean =>
    used.has(arn) || namedIn.get(namespace)?.(name.toLowerCase()) === true;
  const orphans = [
    ...profiles.filter(isOrphan).map(toOrphan),
    ...decoded(objects).flatMap((object) => findExtraProfiles(object, profiles)),
    ...orNone(roles)
      .filter((role) => !isRoleNeeded(role))
      .map(toOrphanRole),
  ];
  // Several objects may use the same EKS cluster.
  return [...new Map(orphans.map((orphan) => [[orphan.name, ...orphan.commands].join(), orphan])).values()];
}

/** Returns the Fargate profiles that have the owner tag of the object, but that the object does not use. */
function findExtraProfiles(object: AWSFargateProfile, profiles: readonly FargateProfile[]): readonly Orphan[] {
  const { namespace, name } = object.metadata;
  const { profileName, predecessors = [] } = object.status ?? {};
  const own = [profileName, ...[...predecessors, ...recordOf(object).profiles].map((each) => each.name)];
  const commands = [shellCommand(['kubectl', '-n', namespace, 'describe', `awsfargateprofile/${name}`])];
  const owner = ownerTagValue({ namespace, name });
  return profiles
    .filter(({ tags, status }) => profileName !== undefined && tags[OWNER_TAG] === owner && status !== 'DELETING')
    .filter((profile) => !own.includes(profile.name))
    .map((profile) => ({
      name: `FargateProfile ${profile.name}`,
      message: `has the tag of AWSFargateProfile ${keyText({ namespace, name })}, which uses "${profileName}"`,
      fix: 'The conditions of the object say what the controller does with it',
      commands,
    }));
}

function toOrphan({ name, arn, cluster, tags }: FargateProfile): Orphan {
  const eksCluster = arn.replace(/:fargateprofile\/([^/]+)\/.*$/, ':cluster/$1');
  const of = [`--region=${arn.split(':')[3]}`, `--cluster-name=${cluster}`, `--fargate-profile-name=${name}`];
  const commands = [['delete-fargate-profile'], ['wait', 'fargate-profile-deleted']].map((command) =>
    shellCommand(['aws', 'eks', ...command, ...of]),
  );
  const message = `AWSFargateProfile ${tags[OWNER_TAG]} does not exist (${eksCluster})`;
  return { name: `FargateProfile ${name}`, message, commands };
}

function toOrphanRole({ name, clusterArn, namespace }: TaggedRole): Orphan {
  const iam = (command: string, ...options: readonly string[]): string =>
    shellCommand(['aws', 'iam', command, `--role-name=${name}`, ...options]);
  const policies = iam('list-attached-role-policies', '--query=AttachedPolicies[].PolicyArn', '--output=text');
  const detach = `for arn in $(${policies}); do ${iam('detach-role-policy')} --policy-arn="$arn"; done`;
  const commands = [detach, iam('delete-role')];
  return { name: `Role ${name}`, message: `nothing in namespace ${namespace} uses it (${clusterArn})`, commands };
}

/**
 * Returns whether one of the objects may use a role: its spec, status, or record annotation contains the role, or the
 * object cannot be decoded.
 */
function rolesNamedIn(objects: readonly KubeObject[]): (inLowerCase: string) => boolean {
  const readable = decoded(objects);
  const names = readable.flatMap((object) => {
    const recorded = recordOf(object).roles.map(({ name }) => name);
    return [roleNameOf(object), object.status?.role?.name, ...recorded];
  });
  const named = new Set(names.map((name) => name?.toLowerCase()));
  return (inLowerCase) => readable.length < objects.length || named.has(inLowerCase);
}
