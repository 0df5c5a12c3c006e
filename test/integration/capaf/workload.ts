import { readFileSync } from 'node:fs';
import { stringify } from 'yaml';
import type { World } from '../../world/world.ts';

/**
 * Creates the kubeconfig Secret of a Cluster, as Cluster API Provider AWS does. The test's API server is the workload
 * cluster too.
 */
export async function applyKubeconfigSecret(
  world: World,
  cluster: string,
  user: object = { token: world.controlPlane.token },
): Promise<void> {
  const { url, caPath } = world.controlPlane;
  const kubeconfig = stringify({
    'current-context': cluster,
    contexts: [{ name: cluster, context: { cluster, user: cluster } }],
    clusters: [
      {
        name: cluster,
        cluster: { server: url, 'certificate-authority-data': readFileSync(caPath).toString('base64') },
      },
    ],
    users: [{ name: cluster, user }],
  });
  const metadata = { name: `${cluster}-kubeconfig`, namespace: 'default' };
  const data = { value: Buffer.from(kubeconfig).toString('base64') };
  await world.apply({ apiVersion: 'v1', kind: 'Secret', metadata, data });
}

export interface FargatePodOptions {
  readonly profile?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly owner?: { readonly kind: string; readonly name: string };
  /** The version of the kubelet; undefined: the pod has no node. */
  readonly kubelet?: string;
  readonly cpu?: string;
  readonly status?: object;
}

/**
 * Creates a pod in namespace `shop` that EKS has assigned to a Fargate profile. `status` is what its kubelet would
 * report.
 */
export async function applyFargatePod(
  world: World,
  name: string,
  { profile = 'default_web', labels = {}, annotations, owner, kubelet, cpu = '300m', status }: FargatePodOptions,
): Promise<void> {
  const { api } = world.controlPlane;
  const node = `fargate-${name}`;
  if (kubelet !== undefined) {
    const ofFargate = { 'eks.amazonaws.com/compute-type': 'fargate' };
    await world.apply({ apiVersion: 'v1', kind: 'Node', metadata: { name: node, labels: ofFargate } });
    await api.patch(`/api/v1/nodes/${node}/status`, { status: { nodeInfo: { kubeletVersion: kubelet } } });
  }
  const ownerReferences = owner && [{ apiVersion: 'apps/v1', uid: 'u', controller: true, ...owner }];
  await world.apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'shop',
      labels: { 'eks.amazonaws.com/fargate-profile': profile, ...labels },
      ...(annotations && { annotations }),
      ...(ownerReferences && { ownerReferences }),
    },
    spec: {
      schedulerName: 'fargate-scheduler',
      ...(kubelet !== undefined && { nodeName: node }),
      containers: [{ name: 'main', image: 'nginx', resources: { requests: { cpu } } }],
    },
  });
  const running = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
  await api.patch(`/api/v1/namespaces/shop/pods/${name}/status`, { status: status ?? running });
}
