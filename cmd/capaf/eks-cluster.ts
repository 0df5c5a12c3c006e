import * as E from 'fp-ts/lib/Either.js';
import * as external from '../../api/external/index.ts';
import { type DecodeProblem, describeProblems } from '../../api/v1beta2/index.ts';
import { controlPlaneReference } from '../../controllers/shared/control-plane/joined-control-plane.ts';
import { defaultEksClusterName } from '../../pkg/fargate/names.ts';
import { findServed } from '../../pkg/kube/discovery.ts';
import { keyText } from '../../pkg/kube/object-key.ts';
import type { KubeClient, ObjectKey } from '../../pkg/kube/types.ts';
import { Failure } from './io.ts';

/**
 * The name and region of the EKS cluster of a Cluster of Cluster API. `hint` ends the message about a Cluster that does
 * not exist.
 *
 * @throws Failure if there is no such Cluster, or if it has no AWSManagedControlPlane; KubeError
 */
export async function findEksCluster(client: KubeClient, key: ObjectKey, signal: AbortSignal, hint = '') {
  const what = `Cluster ${keyText(key)}`;
  const versions = {
    group: external.CLUSTER_GROUP,
    plural: external.CLUSTER_PLURAL,
    versions: external.CLUSTER_VERSIONS,
  };
  const resource = await findServed(client, versions, signal);
  const cluster = resource && (await client.get(resource, key, { signal }));
  if (cluster === undefined) throw new Failure(`there is no ${what}${hint}`);
  const reference = controlPlaneReference(orFail(what, external.decodeCluster(cluster)));
  if (reference === undefined) throw new Failure(`${what} has no ${external.CONTROL_PLANE_KIND}`);
  const controlPlanes = {
    group: external.CONTROL_PLANE_GROUP,
    version: external.CONTROL_PLANE_VERSION,
    plural: external.CONTROL_PLANE_PLURAL,
  };
  const object = await client.get(controlPlanes, reference, { signal });
  const controlPlane = `${external.CONTROL_PLANE_KIND} ${keyText(reference)}`;
  if (object === undefined) throw new Failure(`there is no ${controlPlane}`);
  const { eksClusterName, region } = orFail(controlPlane, external.decodeAWSManagedControlPlane(object));
  return { name: eksClusterName ?? defaultEksClusterName(reference.name, reference.namespace), region, controlPlane };
}

function orFail<A>(what: string, decoded: E.Either<readonly DecodeProblem[], A>): A {
  if (E.isLeft(decoded)) throw new Failure(`${what} cannot be read: ${describeProblems(decoded.left)}`);
  return decoded.right;
}
