// Objects as a user writes them, and where the API server has them.

/** The group of AWSFargateProfile and its version. */
export const PROFILES = '/apis/infrastructure.cluster.x-k8s.io/v1beta2';
const CONTROL_PLANES = '/apis/controlplane.cluster.x-k8s.io/v1beta2';

export const pathOf = (name: string, namespace: string): string =>
  `${PROFILES}/namespaces/${namespace}/awsfargateprofiles/${name}`;

export const clusterPath = (name: string, namespace = 'default', version = 'v1beta2'): string =>
  `/apis/cluster.x-k8s.io/${version}/namespaces/${namespace}/clusters/${name}`;

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

/** The Cluster that names its AWSManagedControlPlane, as each version of Cluster API has it. */
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

/** An AWSFargateProfile that is right, but for what `spec` says otherwise. */
export const fargateProfile = (name: string, spec: object = {}, metadata: object = {}): object => ({
  apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta2',
  kind: 'AWSFargateProfile',
  metadata: { name, namespace: 'default', ...metadata },
  spec: { clusterName: 'prod', selectors: [{ namespace: 'default' }], ...spec },
});
