import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';
import { remoteAdmin, type RemoteAdmin } from '../aws/remote.ts';
import type { ControlPlane } from '../envtest/controlplane.ts';
import { applyCrds, STAND_IN_CRDS } from '../envtest/crds.ts';
import { untilUp, type ServerProcess } from '../envtest/process.ts';
import { startManager } from '../world/manager.ts';
import { OUR_CRD } from '../world/world.ts';
import type { Others } from './others.ts';
import type { Page } from './page.ts';

const EMULATOR = fileURLToPath(new URL('../aws/main.ts', import.meta.url));

/** How long EKS takes for a profile in the demo; in AWS it is minutes. */
const CREATE_MS = 4_000;
const DELETE_MS = 3_000;
/** How long EKS does not know a new role yet, which in AWS lasts some seconds too. */
const ROLE_UNKNOWN_MS = 1_500;
/** So that one sees mended what was changed in AWS behind the manager's back. Its default is 10 minutes. */
const SYNC_PERIOD = '10s';
/** How much of a log is shown with a failure. */
const LOG_LINES = 15;

/** All that plays in the demo, each a process of its own. */
export interface Stage {
  readonly controlPlane: ControlPlane;
  readonly aws: RemoteAdmin;
  readonly awsUrl: string;
  readonly manager: ServerProcess;
  /** The other controllers that have a part in the end of a cluster; absent where none ends. */
  readonly others?: Others;
  /** Rejects as soon as one of the processes has ended by itself. */
  readonly broken: Promise<never>;
}

/**
 * Starts the emulated AWS and the manager beside a control plane, and tells of each.
 * @param others what else is started, before the manager
 */
export async function setStage(
  page: Page,
  controlPlane: ControlPlane,
  others?: (stage: Pick<Stage, 'controlPlane' | 'aws' | 'awsUrl'>) => Promise<Others>,
): Promise<Stage> {
  const { gitVersion } = await controlPlane.api.get<{ readonly gitVersion: string }>('/version');
  tell(page, `Kubernetes API server ${gitVersion}`, controlPlane.url);
  await applyCrds(controlPlane.api, STAND_IN_CRDS, OUR_CRD);
  tell(page, 'CRDs', 'AWSFargateProfile; stand-ins for Cluster and AWSManagedControlPlane');
  const { process: emulator, url: awsUrl } = await startEmulator(controlPlane);
  const aws = remoteAdmin(awsUrl);
  await aws.setConfig({ iam: { trustVisibleToEksMs: ROLE_UNKNOWN_MS } });
  tell(page, 'Emulated EKS, IAM and STS', awsUrl);
  const started = await others?.({ controlPlane, aws, awsUrl });
  const manager = await startManager(controlPlane, { awsUrl, flags: ['--sync-period', SYNC_PERIOD] });
  tell(page, 'Manager dist/manager.mjs', `ready; it logs to ${manager.logPath}`);
  const broken = Promise.race([emulator, manager, ...(started?.processes ?? [])].map(hasEnded));
  broken.catch(() => undefined);
  return { controlPlane, aws, awsUrl, manager, broken, ...(started && { others: started }) };
}

/** Does what the AWS provider does: makes the EKS clusters that the control planes in `file` speak of, and says so. */
export async function provision({ aws, controlPlane }: Stage, file: string): Promise<void> {
  for (const document of parseAllDocuments(await readFile(file, 'utf8'))) {
    const { kind, metadata, spec } = document.toJS() as AWSManagedControlPlane;
    if (kind !== 'AWSManagedControlPlane') continue;
    await aws.createCluster({
      name: spec.eksClusterName,
      region: spec.region,
      subnets: spec.network.subnets.map(({ resourceID: id, isPublic, availabilityZone }) => ({
        id,
        isPublic,
        availabilityZone,
      })),
    });
    const path = `/apis/controlplane.cluster.x-k8s.io/v1beta2/namespaces/${metadata.namespace}/awsmanagedcontrolplanes`;
    await controlPlane.api.patch(`${path}/${metadata.name}/status`, { status: { ready: true } });
  }
}

/** The last lines of a log. */
export function endOfLog(server: ServerProcess): string {
  const lines = server.log().trimEnd().split('\n').slice(-LOG_LINES);
  return `The end of the ${server.name}'s log:\n${lines.join('\n')}`;
}

interface AWSManagedControlPlane {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec: {
    readonly eksClusterName: string;
    readonly region: string;
    readonly network: {
      readonly subnets: readonly {
        readonly resourceID: string;
        readonly isPublic: boolean;
        readonly availabilityZone: string;
      }[];
    };
  };
}

async function startEmulator(controlPlane: ControlPlane): Promise<{ process: ServerProcess; url: string }> {
  const emulator = await controlPlane.run({
    name: 'emulator',
    file: process.execPath,
    args: [EMULATOR, '--create-ms', String(CREATE_MS), '--delete-ms', String(DELETE_MS)],
  });
  // All that it prints is its URL.
  await untilUp([emulator], 'the emulated AWS listening', () => emulator.log().endsWith('\n'));
  return { process: emulator, url: emulator.log().trim() };
}

async function hasEnded(server: ServerProcess): Promise<never> {
  const { code, signal } = await server.exited;
  throw new Error(`the ${server.name} ended with ${signal ?? `exit code ${code}`}\n${endOfLog(server)}`);
}

export function tell(page: Page, what: string, details: string): void {
  page.row([`  ${what}`, details], [38]);
}
