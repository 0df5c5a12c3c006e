import { isRight } from 'fp-ts/lib/Either.js';
import type { RoleName } from '../../api/names.ts';
import { CLUSTER_KIND, decodeCluster } from '../../api/external/index.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import { decodeAWSFargateProfile } from '../../api/v1beta2/index.ts';
import { keyOf, keyText } from '../../pkg/kube/paths.ts';
import type { KubeClient, KubeObject, Resource } from '../../pkg/kube/types.ts';
import { carriesFinalizer, hasPausedAnnotation, isMoving } from '../standing.ts';
import { roleNameOf } from './names.ts';

/** Questions that no cache may answer, because a wrong answer takes something away for good. */
export interface LiveReads {
  /** Why nothing may be taken away for the object right now; `undefined`: go ahead. */
  objectionTo(object: AWSFargateProfile, signal: AbortSignal): Promise<string | undefined>;
  /** Another object, of any namespace, that carries our finalizer and names the role: `namespace/name`. */
  otherUserOf(object: AWSFargateProfile, role: RoleName, signal: AbortSignal): Promise<string | undefined>;
}

const PAGE = 500;

export function liveReads(
  client: KubeClient,
  profiles: Resource,
  /** In which version Clusters are served; `undefined` while they are not. */
  clusters: () => Resource | undefined,
): LiveReads {
  return {
    async objectionTo(object, signal) {
      const now = await client.get(profiles, keyOf(object), { signal });
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
      return isRight(decoded) && !decoded.right.paused ? undefined : 'the Cluster is paused';
    },

    async otherUserOf(object, role, signal) {
      let token: string | undefined;
      do {
        const page = await client.list(profiles, { limit: PAGE, signal, ...(token && { continue: token }) });
        const user = page.items.find(
          (item) => item.metadata.uid !== object.metadata.uid && usesRole(item, role, object),
        );
        if (user !== undefined) return keyText(keyOf(user));
        token = page.continue;
      } while (token);
      return undefined;
    },
  };
}

/** IAM is one namespace per account: an object known to be in another account means another role of that name. */
function usesRole(item: KubeObject, role: RoleName, leaving: AWSFargateProfile): boolean {
  if (!carriesFinalizer(item)) return false;
  const decoded = decodeAWSFargateProfile(item);
  // What cannot be read may name anything: it counts if the name occurs in it.
  if (!isRight(decoded)) return JSON.stringify(item).includes(role);
  const { status } = decoded.right;
  const account = leaving.status?.account;
  if (account !== undefined && status?.account !== undefined && status.account !== account) return false;
  const named = [status?.role?.name, roleNameOf(decoded.right), roleNameInArn(decoded.right.spec.roleARN)];
  return named.some((name) => name?.toLowerCase() === role.toLowerCase());
}

const roleNameInArn = (arn: string | undefined): string | undefined => arn?.slice(arn.lastIndexOf('/') + 1);
