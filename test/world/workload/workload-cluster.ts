import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { RawObject } from '../../envtest/clients/api.ts';
import { type ControlPlane, startControlPlane } from '../../envtest/control-plane/controlplane.ts';
import { AWS_KEY } from '../world.ts';
import type { Admin } from '../../aws/admin/admin.ts';
import type { RemoteAdmin } from '../../aws/admin/remote.ts';
import { IamAuthenticator } from './iam-authenticator.ts';

export const PROFILE_LABEL = 'eks.amazonaws.com/fargate-profile';
const TICK_MS = 100;
/** Ticks are less frequent with many pods, so that this process leaves processor time to the servers. */
const TICK_MS_PER_POD = 2;
/** How long the simulated kubelet takes to make a pod Ready, and to end a terminating pod. */
const READY_AFTER_MS = 300;
const END_AFTER_MS = 300;

/** The AWS emulator, in this process or in another one. */
type AwsAdmin = Pick<Admin | RemoteAdmin, 'profiles' | 'setCluster'>;

export interface WorkloadOptions {
  readonly name: string;
  /** The AWS region of the EKS cluster; default: that of the emulator. */
  readonly region?: string;
  /** The groups of the manager's identity in the EKS cluster. */
  readonly groups?: readonly string[];
}

/** An EKS cluster: a real API server, with a simulated kubelet and EKS. */
export class WorkloadCluster {
  readonly controlPlane: ControlPlane;
  readonly authenticator: IamAuthenticator;
  /** The lowest number of pods that were Ready and not terminating, in all ticks since `watchReady` was called. */
  fewestReady = Number.POSITIVE_INFINITY;
  private isWatched = false;
  private isStopped = false;
  private readonly aws: AwsAdmin;
  private readonly directory: string;
  private readonly seen = new Map<string, number>();
  private readonly ticking: Promise<void>;

  private constructor(
    aws: AwsAdmin,
    parts: Pick<WorkloadCluster, 'controlPlane' | 'authenticator'> & { readonly directory: string },
  ) {
    this.aws = aws;
    this.controlPlane = parts.controlPlane;
    this.authenticator = parts.authenticator;
    this.directory = parts.directory;
    this.ticking = this.run();
  }

  /** The caller must call {@link stop}. */
  static async start(
    aws: AwsAdmin,
    { name, region, groups = ['capaf-drain'] }: WorkloadOptions,
  ): Promise<WorkloadCluster> {
    const authenticator = new IamAuthenticator(name);
    authenticator.identities.set(AWS_KEY, { secret: 'secret', username: 'capaf', groups });
    const server = await authenticator.start();
    const directory = await mkdtemp(join(tmpdir(), 'capaf-workload-'));
    const webhook = join(directory, 'authenticator.yaml');
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'iam', cluster: { server } }],
      users: [{ name: 'api', user: {} }],
      contexts: [{ name: 'webhook', context: { cluster: 'iam', user: 'api' } }],
      'current-context': 'webhook',
    };
    await writeFile(webhook, stringify(config));
    const controlPlane = await startControlPlane({
      apiServerArgs: [
        `--authentication-token-webhook-config-file=${webhook}`,
        '--authentication-token-webhook-version=v1',
        '--authentication-token-webhook-cache-ttl=1s',
      ],
    });
    const ca = await readFile(controlPlane.caPath);
    const apiServer = { endpoint: controlPlane.url, certificateAuthority: ca.toString('base64') };
    await aws.setCluster({ name, ...(region !== undefined && { region }), apiServer });
    return new WorkloadCluster(aws, { controlPlane, authenticator, directory });
  }

  /** Starts the controllers of Deployments, Jobs, and PodDisruptionBudgets. */
  async startControllers(): Promise<void> {
    const names = ['deployment', 'replicaset', 'job', 'disruption'];
    await this.controlPlane.startControllerManager(names.map((each) => `${each}-controller`));
  }

  async deploy(name: string, replicas: number): Promise<void> {
    const labels = { app: name };
    await this.apply('apps/v1', 'deployments', {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, namespace: 'default' },
      spec: {
        replicas,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: POD_SPEC },
      },
    });
  }

  async protect(name: string, minAvailable: number | string): Promise<void> {
    await this.apply('policy/v1', 'poddisruptionbudgets', {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name, namespace: 'default' },
      spec: { minAvailable, selector: { matchLabels: { app: name } } },
    });
  }

  private apply(version: string, plural: string, object: Applied) {
    const path = `/apis/${version}/namespaces/default/${plural}/${object.metadata.name}`;
    return this.controlPlane.api.apply(path, object);
  }

  async pods(): Promise<readonly RawObject[]> {
    return (await this.controlPlane.api.list('/api/v1/pods')).items;
  }

  /** The names of the Ready pods on a profile. */
  async readyOn(profile: string): Promise<readonly string[]> {
    const pods = await this.pods();
    return pods
      .filter((pod) => isReady(pod) && pod.metadata.labels?.[PROFILE_LABEL] === profile)
      .map(({ metadata }) => metadata.name);
  }

  watchReady(): void {
    this.isWatched = true;
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await this.ticking;
    await this.controlPlane.stop();
    await this.authenticator.stop();
    await rm(this.directory, { recursive: true, force: true });
  }

  private async run(): Promise<void> {
    while (!this.isStopped) {
      // A tick fails while the API server is stopped, for example by the test.
      const pods = await this.tick().catch(() => 0);
      await new Promise((resolve) => setTimeout(resolve, Math.max(TICK_MS, pods * TICK_MS_PER_POD)));
    }
  }

  /** Does for each pod the next work of EKS or the kubelet. Returns the number of pods. */
  private async tick(): Promise<number> {
    const profiles = await this.aws.profiles();
    const active = profiles.filter(({ status }) => status === 'ACTIVE').map(({ name }) => name);
    const pods = await this.pods();
    if (this.isWatched) this.fewestReady = Math.min(this.fewestReady, pods.filter(isReady).length);
    await Promise.all(pods.map((pod) => this.look(pod, active.toSorted())));
    return pods.length;
  }

  private async look(pod: RawObject, active: readonly string[]): Promise<void> {
    const { metadata, spec, status } = pod;
    const { api } = this.controlPlane;
    const path = `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}`;
    const profile = metadata.labels?.[PROFILE_LABEL];
    const [taker] = active;
    if (profile === undefined) {
      if (taker === undefined) return;
      await api.patch(path, { metadata: { labels: { [PROFILE_LABEL]: taker } } });
      const target = { apiVersion: 'v1', kind: 'Node', name: 'fargate' };
      const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name: metadata.name }, target };
      await api.request('POST', `${path}/binding`, { body: binding });
      return;
    }
    const age = (what: string): number => {
      const key = `${metadata.uid} ${what}`;
      const since = this.seen.get(key) ?? Date.now();
      this.seen.set(key, since);
      return Date.now() - since;
    };
    // When a profile is being deleted, EKS immediately stops the profile's pods.
    if (!active.includes(profile) || (metadata.deletionTimestamp !== undefined && age('end') > END_AFTER_MS))
      await api.request('DELETE', path, { query: { gracePeriodSeconds: '0' } });
    else if (spec?.['nodeName'] !== undefined && status?.['phase'] !== 'Running' && age('start') > READY_AFTER_MS)
      await api.patch(`${path}/status`, {
        status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
      });
  }
}

interface Applied {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec: object;
}

export const POD_SPEC = { terminationGracePeriodSeconds: 2, containers: [{ name: 'main', image: 'nginx' }] };

export const isReady = ({ metadata, status }: RawObject): boolean =>
  metadata.deletionTimestamp === undefined &&
  status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') === true;
