import type { ApiClient } from '../../../envtest/clients/api.ts';
import { CLUSTER_API_VERSION } from '../../../envtest/binaries/versions.ts';
import type { RunningManager } from '../../manager/manager.ts';
import type { ManagerOptions } from '../../manager/managers.ts';
import type { World } from '../../world.ts';
import { type ClusterctlRepository, type RunOptions, FIRST_VERSION } from './clusterctl-repository.ts';
import { disableCoreWebhooks } from './core-webhooks.ts';

const NAMESPACE = 'capaf-system';
export const DEPLOYMENT = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/capaf-controller-manager`;

export interface Deployment {
  readonly spec: { readonly template: { readonly spec: PodSpec } };
}

interface PodSpec {
  readonly serviceAccountName: string;
  readonly containers: readonly { readonly image: string; readonly args: readonly string[] }[];
}

/** Runs `clusterctl init` for Cluster API's core and for the first version of this provider. */
export async function initProvider(
  repository: ClusterctlRepository,
  { controlPlane }: World,
  options: RunOptions = {},
): Promise<void> {
  const none = ['--bootstrap', '-', '--control-plane', '-'];
  const core = ['--core', `cluster-api:${CLUSTER_API_VERSION}`];
  const infrastructure = ['--infrastructure', `aws-fargate:${FIRST_VERSION}`];
  await repository.run(controlPlane, ['init', ...core, ...none, ...infrastructure], options);
  await disableCoreWebhooks(controlPlane.api);
}

/** The container of the manager in the Deployment that clusterctl has installed. */
export async function installedContainer({ controlPlane }: World): Promise<PodSpec['containers'][number]> {
  const [container] = (await installedPodSpec(controlPlane.api)).containers;
  if (container === undefined) throw new Error('the Deployment has no container');
  return container;
}

/**
 * Starts the manager with the arguments and the service account of the installed Deployment, because no kubelet runs in
 * the tests. `startManager` overrides some of the arguments, for example the addresses and the log level.
 */
export async function startInstalledManager(
  world: World,
  options: Partial<ManagerOptions> = {},
): Promise<RunningManager> {
  const { serviceAccountName } = await installedPodSpec(world.controlPlane.api);
  const { args } = await installedContainer(world);
  const { kubeconfigPath } = world.controlPlane.user(`system:serviceaccount:${NAMESPACE}:${serviceAccountName}`);
  return world.startManager({ kubeconfigPath, ...options, installedArgs: args });
}

const installedPodSpec = async (api: ApiClient): Promise<PodSpec> =>
  (await api.get<Deployment>(DEPLOYMENT)).spec.template.spec;
