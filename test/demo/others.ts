import { EKSClient } from '@aws-sdk/client-eks';
import { BinariesMissing, resolveBinaries } from '../envtest/binaries.ts';
import { startCoreManager } from '../envtest/coremanager.ts';
import type { ServerProcess } from '../envtest/process.ts';
import { CLUSTER_API_VERSION } from '../envtest/versions.ts';
import type { Capa } from '../world/capa.ts';
import { CAPA_AGENT, playCapa } from '../world/capa.ts';
import type { Page } from './page.ts';
import type { Stage } from './stage.ts';
import { tell } from './stage.ts';

/** The others who have a part in the end of a cluster. */
export interface Others {
  /** Cluster API's core manager and kube-controller-manager; none where they cannot be had. */
  readonly processes: readonly ServerProcess[];
  /** Cluster API Provider AWS, played. */
  readonly capa: Capa;
}

/**
 * Starts them, and tells of each.
 * @param outcome told of what each pass of the played provider came to
 */
export async function startOthers(
  page: Page,
  { controlPlane, aws, awsUrl }: Pick<Stage, 'controlPlane' | 'aws' | 'awsUrl'>,
  outcome: (words: string) => void,
): Promise<Others> {
  const processes = await startProcesses(page, controlPlane);
  const { accessKeyId, secretAccessKey } = await aws.registerKey({ foreign: true });
  const clients = new Map<string, EKSClient>();
  const capa = playCapa({
    api: controlPlane.api.calledAs(CAPA_AGENT),
    eksFor: ({ spec }) => {
      const region = String(spec?.['region']);
      const credentials = { accessKeyId, secretAccessKey };
      const client = clients.get(region) ?? new EKSClient({ region, endpoint: awsUrl, credentials, maxAttempts: 1 });
      clients.set(region, client);
      return client;
    },
    tell: outcome,
  });
  tell(page, 'Cluster API Provider AWS', 'played: its control plane controller, as far as a teardown meets it');
  return { processes, capa };
}

/** Where there is neither a cache of them nor Go, the story begins one step later, and says so. */
async function startProcesses(page: Page, controlPlane: Stage['controlPlane']): Promise<readonly ServerProcess[]> {
  const report = (line: string): void => page.line(`  ${line}`);
  try {
    await resolveBinaries(['cluster-api-manager', 'kube-controller-manager'], { report });
    const core = await startCoreManager(controlPlane, report);
    tell(page, `Cluster API's core manager ${CLUSTER_API_VERSION}`, 'the real one');
    const collector = await controlPlane.startControllerManager();
    tell(page, 'kube-controller-manager', 'the real one: garbage collection');
    return [core, collector];
  } catch (error) {
    if (!(error instanceof BinariesMissing)) throw error;
    page.line("\n  NOT THERE: Cluster API's core manager and kube-controller-manager:");
    for (const line of error.message.split('\n')) page.line(`    ${line}`);
    page.line(
      '  Without them the demo begins one step later: kubectl deletes the control plane, and then the Cluster.\n',
    );
    return [];
  }
}
