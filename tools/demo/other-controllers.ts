import { EKSClient } from '@aws-sdk/client-eks';
import { BinariesMissing, resolveBinaries } from '../../test/envtest/binaries/binaries.ts';
import { startCoreManager } from '../../test/envtest/control-plane/coremanager.ts';
import type { ServerProcess } from '../../test/envtest/control-plane/process.ts';
import { CLUSTER_API_VERSION } from '../../test/envtest/binaries/versions.ts';
import { type CapaSimulator, CAPA_AGENT, startCapaSimulator } from '../../test/world/cluster-api/capa-simulator.ts';
import type { Printer } from './output/printer.ts';
import { type DemoEnvironment, printComponent } from './environment.ts';

/** The controllers besides the manager that take part in the teardown of a cluster. */
export interface OtherControllers {
  /**
   * The processes of Cluster API's core manager and of kube-controller-manager; empty when their binaries are missing.
   */
  readonly processes: readonly ServerProcess[];
  /** The simulated control plane controller of Cluster API Provider AWS. */
  readonly capa: CapaSimulator;
}

/**
 * Starts the controllers besides the manager that take part in the teardown of a cluster, and prints a line about each.
 * @param outcome receives the error message of each failed reconcile by the simulated controller of Cluster API
 * Provider AWS, and `deleted` when that controller has completed the deletion of a control plane
 */
export async function startOtherControllers(
  printer: Printer,
  { controlPlane, aws, awsUrl }: Pick<DemoEnvironment, 'controlPlane' | 'aws' | 'awsUrl'>,
  outcome: (words: string) => void,
): Promise<OtherControllers> {
  const processes = await startProcesses(printer, controlPlane);
  const { accessKeyId, secretAccessKey } = await aws.registerKey({ foreign: true });
  const clients = new Map<string, EKSClient>();
  const capa = startCapaSimulator({
    api: controlPlane.api.withUserAgent(CAPA_AGENT),
    eksFor: ({ spec }) => {
      const region = String(spec?.['region']);
      const credentials = { accessKeyId, secretAccessKey };
      const client = clients.get(region) ?? new EKSClient({ region, endpoint: awsUrl, credentials, maxAttempts: 1 });
      clients.set(region, client);
      return client;
    },
    onOutcome: outcome,
  });
  printComponent(
    printer,
    'Cluster API Provider AWS',
    'played by the demo: only the teardown part of its control plane controller',
  );
  return { processes, capa };
}

/**
 * Starts Cluster API's core manager and kube-controller-manager. When their binaries are missing, starts no process and
 * prints that the demo will delete the control plane before the Cluster.
 */
async function startProcesses(
  printer: Printer,
  controlPlane: DemoEnvironment['controlPlane'],
): Promise<readonly ServerProcess[]> {
  const report = (line: string): void => printer.line(`  ${line}`);
  try {
    await resolveBinaries(['cluster-api-manager', 'kube-controller-manager'], { report });
    const core = await startCoreManager(controlPlane, report);
    printComponent(printer, `Cluster API's core manager ${CLUSTER_API_VERSION}`, 'real process');
    const collector = await controlPlane.startControllerManager();
    printComponent(printer, 'kube-controller-manager', 'real process, for garbage collection');
    return [core, collector];
  } catch (error) {
    if (!(error instanceof BinariesMissing)) throw error;
    printer.line("\n  MISSING: Cluster API's core manager and kube-controller-manager:");
    for (const line of error.message.split('\n')) printer.line(`    ${line}`);
    printer.line('  Without them, kubectl deletes the control plane first and the Cluster afterwards.\n');
    return [];
  }
}
