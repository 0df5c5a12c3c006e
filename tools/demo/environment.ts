import { readFile } from 'node:fs/promises';
import { parseAllDocuments } from 'yaml';
import { remoteAdmin, type RemoteAdmin } from '../../test/aws/admin/remote.ts';
import type { ControlPlane } from '../../test/envtest/control-plane/controlplane.ts';
import { applyCrds, STAND_IN_CRDS } from '../../test/envtest/clients/crds.ts';
import type { ServerProcess } from '../../test/envtest/control-plane/process.ts';
import { startManager } from '../../test/world/manager/manager.ts';
import { OUR_CRD } from '../../test/world/world.ts';
import { startEmulator } from '../emulator.ts';
import type { OtherControllers } from './other-controllers.ts';
import type { Printer } from './output/printer.ts';

/** How long the emulated EKS takes to create or delete a Fargate profile in the demo. The real EKS takes minutes. */
const CREATE_MS = 4_000;
const DELETE_MS = 3_000;
/** How long the emulated EKS takes to see a new IAM role. The real EKS takes some seconds. */
const ROLE_UNKNOWN_MS = 1_500;
/**
 * The interval at which the manager compares Ready objects with AWS; its default is 10 minutes. The demo uses a short
 * interval, so that users soon see how the manager repairs a change in AWS.
 */
const SYNC_PERIOD = '10s';
/** How many lines from the end of a process's log the demo prints after a failure. */
const LOG_LINES = 15;

/** The processes that the demo has started. */
export interface DemoEnvironment {
  readonly controlPlane: ControlPlane;
  readonly aws: RemoteAdmin;
  readonly awsUrl: string;
  readonly manager: ServerProcess;
  /**
   * The controllers besides the manager that take part in the teardown of a cluster; undefined: the demo shows no
   * teardown.
   */
  readonly otherControllers?: OtherControllers;
  /** This promise rejects when the AWS emulator, the manager, or another controller exits. */
  readonly processExited: Promise<never>;
}

export interface EnvironmentOptions {
  /**
   * Starts the controllers that take part in a teardown besides the manager. The demo calls this function before it
   * starts the manager.
   */
  readonly others?: (
    environment: Pick<DemoEnvironment, 'controlPlane' | 'aws' | 'awsUrl'>,
  ) => Promise<OtherControllers>;
  /** Additional command line flags of the manager. */
  readonly flags?: readonly string[];
}

/**
 * Installs the CRDs, and starts the AWS emulator, the other controllers, and the manager. Prints a line about each
 * component.
 */
export async function startEnvironment(
  printer: Printer,
  controlPlane: ControlPlane,
  { others, flags = [] }: EnvironmentOptions = {},
): Promise<DemoEnvironment> {
  const { gitVersion } = await controlPlane.api.get<{ readonly gitVersion: string }>('/version');
  printComponent(printer, `Kubernetes API server ${gitVersion}`, controlPlane.url);
  await applyCrds(controlPlane.api, STAND_IN_CRDS, OUR_CRD);
  printComponent(printer, 'CRDs', 'AWSFargateProfile; stand-ins for Cluster and AWSManagedControlPlane');
  const { process: emulator, url: awsUrl } = await startEmulator(controlPlane);
  const aws = remoteAdmin(awsUrl);
  await aws.setConfig({
    eks: { createMs: CREATE_MS, deleteMs: DELETE_MS },
    iam: { trustVisibleToEksMs: ROLE_UNKNOWN_MS },
  });
  printComponent(printer, 'Emulated EKS, IAM and STS', awsUrl);
  const started = await others?.({ controlPlane, aws, awsUrl });
  const manager = await startManager(controlPlane, { awsUrl, flags: ['--sync-period', SYNC_PERIOD, ...flags] });
  printComponent(printer, 'Manager dist/manager.mjs', `ready; it logs to ${manager.logPath}`);
  const processExited = Promise.race([emulator, manager, ...(started?.processes ?? [])].map(rejectOnExit));
  processExited.catch(() => undefined);
  return { controlPlane, aws, awsUrl, manager, processExited, ...(started && { otherControllers: started }) };
}

/**
 * Does the work of Cluster API Provider AWS: creates the EKS cluster of each AWSManagedControlPlane in a YAML file, and
 * sets status.ready of each AWSManagedControlPlane to true.
 */
export async function createEksClusters({ aws, controlPlane }: DemoEnvironment, file: string): Promise<void> {
  for (const document of parseAllDocuments(await readFile(file, 'utf8'))) {
    const { kind, metadata, spec } = document.toJS() as AWSManagedControlPlane;
    if (kind !== 'AWSManagedControlPlane') continue;
    await aws.createCluster({
      name: spec.eksClusterName,
      region: spec.region,
      subnets: spec.network.subnets.map(({ resourceID: id, isPublic }) => ({ id, isPublic })),
    });
    const path = `/apis/controlplane.cluster.x-k8s.io/v1beta2/namespaces/${metadata.namespace}/awsmanagedcontrolplanes`;
    await controlPlane.api.patch(`${path}/${metadata.name}/status`, { status: { ready: true } });
  }
}

/** Returns the last lines of the log of a server, below a heading with the name of the server. */
export function lastLogLines(server: ServerProcess): string {
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
      readonly subnets: readonly { readonly resourceID: string; readonly isPublic: boolean }[];
    };
  };
}

async function rejectOnExit(server: ServerProcess): Promise<never> {
  const { code, signal } = await server.exited;
  throw new Error(`the ${server.name} ended with ${signal ?? `exit code ${code}`}\n${lastLogLines(server)}`);
}

export function printComponent(printer: Printer, what: string, details: string): void {
  printer.row([`  ${what}`, details], [38]);
}
