import { isRight } from 'fp-ts/lib/Either.js';
import type { AccountId, RoleName } from '../../api/names.ts';
import { CLUSTER_KIND, decodeCluster } from '../../api/external/index.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import { decodeAWSFargateProfile } from '../../api/v1beta2/index.ts';
import { keyOf, keyText } from '../../pkg/kube/paths.ts';
import type { KubeClient, KubeObject, Resource } from '../../pkg/kube/types.ts';
import { SingleFlight } from '../../pkg/runtime/single-flight.ts';
import { PROFILES, listLive } from '../profiles.ts';
import { carriesFinalizer, hasPausedAnnotation, isMoving } from '../standing.ts';
import { roleNameOf } from './names.ts';

/** Questions that no cache may answer, because a wrong answer takes something away for good. */
export interface LiveReads {
  /** Why nothing may be taken away for the object right now; `undefined`: go ahead. */
  objectionTo(object: AWSFargateProfile, signal: AbortSignal): Promise<string | undefined>;
  /** Another object, of any namespace, that carries our finalizer and names the role: `namespace/name`. */
  otherUserOf(object: AWSFargateProfile, role: RoleName, signal: AbortSignal): Promise<string | undefined>;
}

export function liveReads(
  client: KubeClient,
  /** In which version Clusters are served; `undefined` while they are not. */
  clusters: () => Resource | undefined,
): LiveReads {
  // In a mass deletion many passes want to know it at the same time, each of a role of its own.
  const users = new SingleFlight((signal) => roleUsers(client, signal));
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
      return all.find(({ uid, mayUse }) => uid !== object.metadata.uid && mayUse(role, object.status?.account))?.key;
    },
  };
}

/** An object that carries our finalizer, and what it may do with a role. */
interface RoleUser {
  /** `namespace/name` */
  readonly key: string;
  readonly uid: string | undefined;
  /** Whether it names the role of an account. */
  readonly mayUse: (role: RoleName, account: AccountId | undefined) => boolean;
}

async function roleUsers(client: KubeClient, signal: AbortSignal): Promise<readonly RoleUser[]> {
  const users: RoleUser[] = [];
  for await (const item of listLive(client, {}, signal)) if (carriesFinalizer(item)) users.push(roleUser(item));
  return users;
}

/** IAM is one namespace per account: an object known to be in another account means another role of that name. */
function roleUser(item: KubeObject): RoleUser {
  const user = { key: keyText(keyOf(item)), uid: item.metadata.uid };
  const decoded = decodeAWSFargateProfile(item);
  // What cannot be read may name anything: it counts if the name occurs in it.
  if (!isRight(decoded)) return { ...user, mayUse: (role) => mentions(item, role) };
  const { status, spec } = decoded.right;
  const named = [status?.role?.name, roleNameOf(decoded.right), roleNameInArn(spec.roleARN)];
  const names = new Set(named.map((name) => name?.toLowerCase()));
  return {
    ...user,
    mayUse: (role, account) =>
      names.has(role.toLowerCase()) &&
      (account === undefined || status?.account === undefined || status.account === account),
  };
}

/** Whether the name stands anywhere in the object, by itself or at the end of an ARN. */
function mentions(value: unknown, role: RoleName): boolean {
  if (typeof value === 'string') return (roleNameInArn(value) ?? value).toLowerCase() === role.toLowerCase();
  return typeof value === 'object' && value !== null && Object.values(value).some((each) => mentions(each, role));
}

const roleNameInArn = (arn: string | undefined): string | undefined => arn?.slice(arn.lastIndexOf('/') + 1);
