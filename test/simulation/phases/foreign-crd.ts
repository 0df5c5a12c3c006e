import { crd } from '../../../api/v1beta2/crd.ts';
import { PLURAL } from '../../../api/v1beta2/index.ts';
import type { SimulatedWorld } from '../world/simulated-world.ts';

export const CRD_KIND = {
  group: 'apiextensions.k8s.io',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  versions: ['v1'],
  namespaced: false,
};
const CRD_NAME = `${PLURAL}.infrastructure.cluster.x-k8s.io`;

/**
 * Installs a CRD of AWSFargateProfile without the fields that only this project defines. The CRD of Cluster API
 * Provider AWS lacks these fields too.
 */
export function serveForeignSchema(world: SimulatedWorld): void {
  world.api.serve(CRD_KIND);
  const [version] = crd.spec.versions;
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec: { properties: { clusterName: {} } } } } };
  world.create(CRD_KIND.plural, {
    metadata: { name: CRD_NAME, labels: { 'cluster.x-k8s.io/provider': 'infrastructure-aws' } },
    spec: { versions: [{ ...version, schema }] },
  });
}

export const serveOurSchema = (world: SimulatedWorld): void =>
  world.patch(CRD_KIND.plural, CRD_NAME, { spec: { versions: crd.spec.versions } });
