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

const FOREIGN_VERSIONS = crd.spec.versions.map((version) => ({
  ...version,
  schema: { openAPIV3Schema: { type: 'object', properties: { spec: { properties: { clusterName: {} } } } } },
}));

/**
 * Installs a CRD of AWSFargateProfile without the fields that only this project defines. The CRD of Cluster API
 * Provider AWS lacks these fields too.
 */
export const serveForeignSchema = (world: SimulatedWorld): void =>
  serveCrd(world, { 'cluster.x-k8s.io/provider': 'infrastructure-aws' }, FOREIGN_VERSIONS);

/** Replaces the versions of the installed CRD with versions that lack the fields that only this project defines. */
export const serveForeignVersions = (world: SimulatedWorld): void =>
  world.patch(CRD_KIND.plural, CRD_NAME, { spec: { versions: FOREIGN_VERSIONS } });

/** Installs a CRD of AWSFargateProfile; default: the CRD of this project. */
export function serveCrd(world: SimulatedWorld, labels: object = {}, versions: unknown = crd.spec.versions): void {
  world.api.serve(CRD_KIND);
  world.create(CRD_KIND.plural, { metadata: { name: CRD_NAME, labels }, spec: { versions } });
}

export const serveOurSchema = (world: SimulatedWorld): void =>
  world.patch(CRD_KIND.plural, CRD_NAME, { spec: { versions: crd.spec.versions } });
