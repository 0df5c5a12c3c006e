import { fileURLToPath } from 'node:url';
import { leftovers } from '../aws/expect-nothing-left.ts';
import type { ControlPlane } from '../envtest/controlplane.ts';
import { managedCluster, playCoreManager } from '../world/managed-cluster.ts';
import { Chronicle } from './chronicle.ts';
import { startOthers } from './others.ts';
import type { Page } from './page.ts';
import { CLUSTER, fromHere, orWithLog, run } from './scenes.ts';
import type { Stage } from './stage.ts';
import { provision, setStage } from './stage.ts';

const PROFILES = fileURLToPath(new URL('three-profiles.yaml', import.meta.url));
const NAME = 'my-cluster';

/** How long EKS takes for each; in AWS it is minutes. */
const EKS = { createMs: 1_000, deleteMs: 2_000, clusterDeleteMs: 1_500 };
/** Each takes seconds; this is for a very busy machine. */
const WITHIN_MS = 120_000;

interface Ends {
  /** Ends what is followed in the background. */
  readonly signal: AbortSignal;
  /** Rejects when the user has seen enough. */
  readonly interrupt: Promise<never>;
}

/** What a scene is played with. */
interface Props {
  readonly page: Page;
  readonly stage: Stage;
  readonly chronicle: Chronicle;
}

/** A cluster with three profiles goes away in order. Ends as soon as the user or one of the processes ends it. */
export async function clusterGoes(page: Page, controlPlane: ControlPlane, { signal, interrupt }: Ends): Promise<void> {
  const chronicle = new Chronicle(controlPlane.api, page);
  const tellCapa = capaTeller(chronicle);
  const setting = setStage(page, controlPlane, (stage) => startOthers(page, stage, tellCapa));
  const stage = await Promise.race([setting, interrupt]);
  try {
    const broken = Promise.race([stage.broken, chronicle.follow(signal)]);
    const props = { page, stage, chronicle };
    for (const scene of [clusterIsThere, everythingGoes, nothingIsLeft]) {
      await Promise.race([scene(props), interrupt, broken]);
    }
  } finally {
    await stage.others?.capa.stop();
  }
}

/** Its first refused try is news, the next ones are not, and how many they were is told in the end. */
function capaTeller(chronicle: Chronicle): (words: string) => void {
  let refusals = 0;
  return (words) => {
    if (words === 'deleted') {
      chronicle.tell('AWS provider', `EKS has deleted the cluster; before, it refused ${refusals} times`);
      return;
    }
    if (refusals === 0) chronicle.tell('AWS provider', `EKS refuses to delete the cluster: ${words}`);
    refusals += 1;
  };
}

async function clusterIsThere({ page, stage, chronicle }: Props): Promise<void> {
  await stage.aws.setConfig({ eks: EKS, iam: { trustVisibleToEksMs: 0 } });
  page.heading('Given a Cluster with its control plane, as users of Cluster API have it, and three AWSFargateProfiles');
  await run({ page, stage }, ['apply', '-f', fromHere(CLUSTER)]);
  await provision(stage, CLUSTER);
  if (!isWhole(stage)) await playCoreManager(stage, managedCluster(NAME));
  await chronicle.during(() => run({ page, stage }, ['apply', '-f', fromHere(PROFILES)]));
  const isReady = (conditions: readonly { readonly type: string; readonly status: string }[] = []): boolean =>
    conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
  await orWithLog(
    stage,
    chronicle.until(
      'all profiles being Ready',
      WITHIN_MS,
      ['AWSFargateProfile'],
      (profiles) => profiles.length === 3 && profiles.every(({ status }) => isReady(status?.conditions)),
    ),
  );
  page.line();
  await run({ page, stage }, ['get', 'awsfargateprofiles']);
}

async function everythingGoes({ page, stage, chronicle }: Props): Promise<void> {
  page.heading(isWhole(stage) ? 'Delete the Cluster' : 'Delete its control plane');
  const what = isWhole(stage) ? ['cluster', NAME] : ['awsmanagedcontrolplane', `${NAME}-control-plane`];
  await chronicle.during(() => run({ page, stage }, ['delete', ...what, '--wait=false']));
  const kinds = isWhole(stage)
    ? (['Cluster', 'AWSManagedControlPlane', 'AWSManagedCluster', 'AWSFargateProfile'] as const)
    : (['AWSManagedControlPlane', 'AWSFargateProfile'] as const);
  await orWithLog(
    stage,
    chronicle.until('the end of everything', WITHIN_MS, kinds, (objects) => objects.length === 0),
  );
  if (isWhole(stage)) return;
  page.heading('Delete the Cluster, which has nothing left to wait for');
  await chronicle.during(() => run({ page, stage }, ['delete', '-f', fromHere(CLUSTER), '--ignore-not-found']));
}

async function nothingIsLeft({ page, stage }: Props): Promise<void> {
  page.heading('What is left');
  await run({ page, stage }, ['get', 'clusters,awsmanagedcontrolplanes,awsmanagedclusters,awsfargateprofiles']);
  const world = await stage.aws.world();
  const left = [...leftovers(world), ...world.clusters.map(({ arn }) => arn)];
  for (const each of left) page.line(`  in AWS: ${each}`);
  if (left.length > 0) throw new Error('the objects are gone, but not all that they stood for');
  page.line('  in AWS: no EKS cluster, no Fargate profile, no role of theirs');
}

/** Whether Cluster API's core manager is there to delete what belongs to a Cluster. */
const isWhole = ({ others }: Stage): boolean => (others?.processes.length ?? 0) > 0;
