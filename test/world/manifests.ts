// Manifests of Kubernetes objects for tests, and the paths of these objects in the API server.

import type { Subnet } from '../aws/model/resources.ts';

/** The path of the API group and version of AWSFargateProfile in the API server. */
export const PROFILES = '/apis/infrastructure.cluster.x-k8s.io/v1beta2';
const CONTROL_PLANES = '/apis/controlplane.cluster.x-k8s.io/v1beta2';

export const pathOf = (name: string, namespace: string): string =>
  `${PROFILES}/namespaces/${namespace}/awsfargateprofiles/${name}`;

export const clusterPath = (name: string, namespace = 'default'): string =>
  `/apis/cluster.x-k8s.io/v1beta2/namespaces/${namespace}/clusters/${name}`;

export const controlPlanePath = (cluster: string, namespace = 'default'): string =>
  `${CONTROL_PLANES}/namespaces/${namespace}/awsmanagedcontrolplanes/${cluster}-control-plane`;

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

export function pathOfManifest({ apiVersion, kind, metadata: { name, namespace } }: Manifest): string {
  const group = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const plural = `${kind.toLowerCase()}s`.replace(/ys$/, 'ies');
  return `${group}/${namespace === undefined ? '' : `namespaces/${namespace}/`}${plural}/${name}`;
}

/**
 * The manifest of a Cluster with a `spec.controlPlaneRef` to an AWSManagedControlPlane, in API version v1beta1 or
 * v1beta2.
 */
export function clusterObject(name: string, namespace = 'default', version: 'v1beta1' | 'v1beta2' = 'v1beta2'): object {
  const group = 'controlplane.cluster.x-k8s.io';
  const reference = { kind: 'AWSManagedControlPlane', name: `${name}-control-plane` };
  return {
    apiVersion: `cluster.x-k8s.io/${version}`,
    kind: 'Cluster',
    metadata: { name, namespace },
    spec: {
      controlPlaneRef:
        version === 'v1beta1'
          ? { apiVersion: `${group}/v1beta2`, namespace, ...reference }
          : { apiGroup: group, ...reference },
    },
  };
}

/**
 * The manifest of the AWSManagedControlPlane of a Cluster. The name is the one in the `spec.controlPlaneRef` of the
 * Cluster that `clusterObject` returns.
 */
export const controlPlaneObject = (cluster: string, spec: object, metadata: object = {}): object => ({
  apiVersion: 'controlplane.cluster.x-k8s.io/v1beta2',
  kind: 'AWSManagedControlPlane',
  metadata: { name: `${cluster}-control-plane`, namespace: 'default', ...metadata },
  spec,
});

/** The value of `spec.network` in an AWSManagedControlPlane with the given subnets. */
export const networkOf = (cluster: string, subnets: readonly Subnet[]): object => ({
  subnets: subnets.map(({ id, isPublic, availabilityZone }, index) => ({
    id: `${cluster}-subnet-${index}`,
    resourceID: id,
    isPublic,
    availabilityZone,
  })),
});

/**
 * The manifest of a valid AWSFargateProfile for the Cluster `prod`. The parameter `spec` adds or replaces fields of its
 * spec.
 */
export const fargateProfile = (name: string, spec: object = {}, metadata: object = {}): object => ({
  apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta2',
  kind: 'AWSFargateProfile',
  metadata: { name, namespace: 'default', ...metadata },
  spec: { clusterName: 'prod', selectors: [{ namespace: 'default' }], ...spec },
});
