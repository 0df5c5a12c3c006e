import { recordedReplacement } from '../../../controllers/awsfargateprofile/model/replacement.ts';
import { roleNameOf } from '../../../controllers/shared/profile-names.ts';
import { ownerTagValue } from '../../../pkg/fargate/tags/tag-keys.ts';
import type { KubeObject } from '../../../pkg/kube/types.ts';
import type { EksProfile, TaggedRole } from './read-aws.ts';
import { decoded } from './read-cluster.ts';

/** What this provider made in AWS for an AWSFargateProfile that does not exist. */
export interface Orphan {
  readonly kind: 'FargateProfile' | 'Role';
  readonly name: string;
  /** The ARN. */
  readonly eksCluster: string;
  /** `<namespace>/<name>` of the AWSFargateProfile; of a role only the namespace. */
  readonly owner: string;
  /** For a POSIX shell. capaf runs none of them. */
  readonly commands: readonly string[];
}

/** Profiles come first, because a role must not be deleted under its profile. */
export function findOrphans(
  profiles: readonly EksProfile[],
  roles: readonly TaggedRole[],
  objects: readonly KubeObject[],
): readonly Orphan[] {
  const owners = new Set(objects.map(({ metadata: { namespace = '', name } }) => ownerTagValue({ namespace, name })));
  const isOrphan = ({ owner, status }: EksProfile): boolean =>
    owner !== undefined && !owners.has(owner) && status !== 'DELETING';
  const used = new Set(profiles.filter((profile) => !isOrphan(profile)).map(({ roleArn }) => roleArn));
  const byNamespace = Map.groupBy(objects, ({ metadata }) => metadata.namespace ?? '');
  const namedIn = new Map([...byNamespace].map(([namespace, ofNamespace]) => [namespace, rolesNamedIn(ofNamespace)]));
  const isRoleNeeded = ({ name, arn, namespace }: TaggedRole): boolean =>
    used.has(arn) || namedIn.get(namespace)?.(name.toLowerCase()) === true;
  const orphans = [
    ...profiles.filter(isOrphan).map(toOrphan),
    ...roles.filter((role) => !isRoleNeeded(role)).map(toOrphanRole),
  ];
  // Several objects may name one EKS cluster.
  return [...new Map(orphans.map((orphan) => [orphan.commands.join(), orphan])).values()];
}

function toOrphan({ name, owner = '', clusterArn }: EksProfile): Orphan {
  const [, , , region = '', , cluster = ''] = clusterArn.split(':');
  const of = `--region ${quote(region)} --cluster-name ${quote(cluster.replace(/^cluster\//, ''))}`;
  const commands = ['delete-fargate-profile', 'wait fargate-profile-deleted'].map(
    (command) => `aws eks ${command} ${of} --fargate-profile-name ${quote(name)}`,
  );
  return { kind: 'FargateProfile', name, eksCluster: clusterArn, owner, commands };
}

function toOrphanRole({ name, clusterArn, namespace }: TaggedRole): Orphan {
  const of = `--role-name ${quote(name)}`;
  const policies = `aws iam list-attached-role-policies ${of} --query 'AttachedPolicies[].PolicyArn' --output text`;
  const detach = `for arn in $(${policies}); do aws iam detach-role-policy ${of} --policy-arn "$arn"; done`;
  const commands = [detach, `aws iam delete-role ${of}`];
  return { kind: 'Role', name, eksCluster: clusterArn, owner: namespace, commands };
}

/** Also those that status or the annotation of a replacement has on record. An unreadable object may name each role. */
function rolesNamedIn(objects: readonly KubeObject[]): (inLowerCase: string) => boolean {
  const readable = decoded(objects);
  const names = readable.flatMap((object) => {
    const { role, successor, predecessors = [] } = object.status ?? {};
    const recorded = recordedReplacement({ ...object, status: {} }).map((each) => each.role);
    return [roleNameOf(object), role?.name, successor?.role, ...predecessors.map((each) => each.role), ...recorded];
  });
  const named = new Set(names.map((name) => name?.toLowerCase()));
  return (inLowerCase) => readable.length < objects.length || named.has(inLowerCase);
}

const quote = (text: string): string => (/^[\w+=,.@:/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
