import { isRight } from 'fp-ts/lib/Either.js';
import type { RoleName } from '../../api/names.ts';
import { CLUSTER_KIND, decodeCluster } from '../../api/external/index.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import { decodeAWSFargateProfile } from '../../api/v1beta2/index.ts';
import { keyOf, keyText } from '../../pkg/kube/paths.ts';
import type { KubeClient, KubeObject, Resource } from '../../pkg/kube/types.ts';
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
  return {
    async objectionTo(object, signal) {
      const now = await client.get(PROFILES, keyOf(object), { signal });
      if (now === undefined || now.metadata.uid !== object.metadata.uid) return 'the object is gone';
      if (isMoving(now)) return 'the object is being moved away';
      if (hasPausedAnnotation(now)) return 'the object is paused';
      if (now.metadata.generation !== object.metadata.generation) return 'the object has changed';
      const resource = clusters();
      if (resource === undefined) return `${CLUSTER_KIND} objects cannot be read`;
      const key = { namespace: object.metadata.namespace, name: object.spec.clusterName };
      const cluster = await client.get(resource, key, { signal });
      if (cluster === undefined) return undefined;
      const decoded = decodeCluster(cluster);
      if (!isRight(decoded)) return 'the Cluster cannot be read';
      return decoded.right.paused ? 'the Cluster is paused' : undefined;
    },

    async otherUserOf(object, role, signal) {
      for await (const other of listLive(client, {}, signal)) {
        if (other.metadata.uid !== object.metadata.uid && usesRole(other, role, object)) return keyText(keyOf(other));
      }
      return undefined;
    },
  };
}

/** IAM is one namespace per account: an object known to be in another account means another role of that name. */
function usesRole(item: KubeObject, role: RoleName, leaving: AWSFargateProfile): boolean {
  if (!carriesFinalizer(item)) return false;
  const decoded = decodeAWSFargateProfile(item);
  // What cannot be read may name anything: it counts if the name occurs in it.
  if (!isRight(decoded)) return mentions(item, role);
  const { status } = decoded.right;
  const account = leaving.status?.account;
  if (account !== undefined && status?.account !== undefined && status.account !== account) return false;
  const named = [status?.role?.name, roleNameOf(decoded.right), roleNameInArn(decoded.right.spec.roleARN)];
  return named.some((name) => name?.toLowerCase() === role.toLowerCase());
}

/** Whether the name stands anywhere in the object, by itself or at the end of an ARN. */
function mentions(value: unknown, role: RoleName): boolean {
  if (typeof value === 'string') return (roleNameInArn(value) ?? value).toLowerCase() === role.toLowerCase();
  return typeof value === 'object' && value !== null && Object.values(value).some((each) => mentions(each, role));
}

const roleNameInArn = (arn: string | undefined): string | undefined => arn?.slice(arn.lastIndexOf('/') + 1);
