import { isRight } from 'fp-ts/lib/Either.js';
import { toUndefined } from 'fp-ts/lib/Option.js';
import type { AccountId, RoleName } from '../../api/names.ts';
import { CLUSTER_KIND, decodeCluster } from '../../api/external/index.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import { decodeAWSFargateProfile } from '../../api/v1beta2/index.ts';
import { parseRoleArn } from '../../pkg/fargate/arns.ts';
import { keyOf, keyText } from '../../pkg/kube/paths.ts';
import type { KubeClient, KubeObject, Resource } from '../../pkg/kube/types.ts';
import { SingleFlight } from '../../pkg/runtime/single-flight.ts';
import { PROFILES, listLive } from '../profiles.ts';
import { carriesFinalizer, hasPausedAnnotation, isMoving } from '../standing.ts';
import { roleNameOf } from './names.ts';

/** IAM is one namespace per account: a name in another account is another role. */
export interface RoleInAccount {
  readonly name: RoleName;
  readonly account: AccountId;
}

/** Questions that no cache may answer, because a wrong answer takes something away for good. */
export interface LiveReads {
  /** Why nothing may be taken away for the object right now; `undefined`: go ahead. */
  objectionTo(object: AWSFargateProfile, signal: AbortSignal): Promise<string | undefined>;
  /** Another object, of any namespace, that carries our finalizer and names the role of the account: `namespace/name`. */
  otherUserOf(object: AWSFargateProfile, role: RoleInAccount, signal: AbortSignal): Promise<string | undefined>;
}

export function liveReads(
  client: KubeClient,
  /** In which version Clusters are served; `undefined` while they are not. */
  clusters: () => Resource | undefined,
): LiveReads {
  // In a mass deletion many passes want to know it at the same time, each of a role of its own.
  let known: ReadonlyMap<string, RoleUser> = new Map();
  const users = new SingleFlight(async (signal) => {
    known = await roleUsers(client, known, signal);
    return [...known.values()];
  });
  return {
    async objectionTo(object, signal) {
      const resource = clusters();
      const key = { namespace: object.metadata.namespace, name: object.spec.clusterName };
      const [now, cluster] = await Promise.all([
        client.get(PROFILES, keyOf(object), { signal }),
        resource && client.get(resource, key, { signal }),
      ]);
      if (now === undefined || now.metadata.uid !== object.metadata.uid) return 'the object is gone';
      if (isMoving(now)) return 'the object is being moved away';
      if (hasPausedAnnotation(now)) return 'the object is paused';
      if (now.metadata.generation !== object.metadata.generation) return 'the object has changed';
      if (resource === undefined) return `${CLUSTER_KIND} objects cannot be read`;
      if (cluster === undefined) return undefined;
      const decoded = decodeCluster(cluster);
      if (!isRight(decoded)) return 'the Cluster cannot be read';
      return decoded.right.paused ? 'the Cluster is paused' : undefined;
    },

    async otherUserOf(object, role, signal) {
      const all = await users.get(signal);
      return all.find(({ uid, mayUse }) => uid !== object.metadata.uid && mayUse(role, object))?.key;
    },
  };
}

/** An object that carries our finalizer, and what it may do with a role. */
interface RoleUser {
  /** `namespace/name` */
  readonly key: string;
  readonly uid: string | undefined;
  /** Whether it names the role that `leaving` would delete. */
  readonly mayUse: (role: RoleInAccount, leaving: AWSFargateProfile) => boolean;
}

/** By uid and version: what has not changed since the last list need not be read again. */
async function roleUsers(
  client: KubeClient,
  known: ReadonlyMap<string, RoleUser>,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, RoleUser>> {
  const users = new Map<string, RoleUser>();
  for await (const item of listLive(client, {}, signal)) {
    const { uid, resourceVersion } = item.metadata;
    const version = `${uid} ${resourceVersion}`;
    if (carriesFinalizer(item)) users.set(version, known.get(version) ?? roleUser(item));
  }
  return users;
}

function roleUser(item: KubeObject): RoleUser {
  const decoded = decodeAWSFargateProfile(item);
  const mayUse = isRight(decoded) ? readable(decoded.right) : unreadable(item);
  return { key: keyText(keyOf(item)), uid: item.metadata.uid, mayUse };
}

/** What cannot be read may name anything: it counts if the name occurs in it. */
const unreadable =
  (item: KubeObject): RoleUser['mayUse'] =>
  ({ name }) =>
    mentions(item, name);

/** Keeps nothing else of the object: the list may be long. */
function readable(object: AWSFargateProfile): RoleUser['mayUse'] {
  const named = [object.status?.role?.name, roleNameOf(object), roleNameInArn(object.spec.roleARN)];
  const names = new Set(named.map((name) => name?.toLowerCase()));
  const known = accountOf(object);
  const { namespace } = object.metadata;
  const { clusterName } = object.spec;
  return ({ name, account }, leaving) =>
    names.has(name.toLowerCase()) &&
    (known === undefined
      ? namespace === leaving.metadata.namespace && clusterName === leaving.spec.clusterName
      : account === known);
}

/**
 * `undefined`: an object whose account is not recorded has nothing in AWS yet, or was moved here a moment ago. It is taken for
 * one of the account if it belongs to the same Cluster, or its `roleARN` says so: what leaves would otherwise leave its role
 * behind, for good, for the sake of whoever waits for credentials in another account and wants a role of the same name there.
 */
function accountOf({ spec, status }: AWSFargateProfile): string | undefined {
  if (status?.account !== undefined) return status.account;
  return spec.roleARN === undefined ? undefined : toUndefined(parseRoleArn(spec.roleARN))?.account;
}

/** Whether the name stands anywhere in the object, by itself or at the end of an ARN. */
function mentions(value: unknown, role: RoleName): boolean {
  if (typeof value === 'string') return (roleNameInArn(value) ?? value).toLowerCase() === role.toLowerCase();
  return typeof value === 'object' && value !== null && Object.values(value).some((each) => mentions(each, role));
}

const roleNameInArn = (arn: string | undefined): string | undefined => arn?.slice(arn.lastIndexOf('/') + 1);
