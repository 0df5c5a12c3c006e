import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { leftovers } from '../aws/expect-nothing-left.ts';
import { kubectl } from '../envtest/kubectl.ts';
import { whatIsThere } from './aws.ts';
import type { Newsreel } from './newsreel.ts';
import type { Page } from './page.ts';
import type { Profiles } from './profiles.ts';
import { endOfLog, provision, type Stage } from './stage.ts';

export const CLUSTER = fileURLToPath(new URL('cluster.yaml', import.meta.url));
const SAMPLES = fileURLToPath(new URL('../../config/samples', import.meta.url));

/** Both take seconds; this is for a very busy machine. */
const READY_WITHIN_MS = 60_000;
const GONE_WITHIN_MS = 60_000;

/** What a scene is played with. */
export interface Props {
  readonly page: Page;
  readonly stage: Stage;
  readonly profiles: Profiles;
  readonly news: Newsreel;
}

/** @throws when the profile is not Ready in time */
export async function becomesReady(props: Props): Promise<void> {
  const { page, stage, profiles, news } = props;
  page.heading('Given a Cluster with its control plane, as users of Cluster API have it');
  await run(props, ['apply', '-f', fromHere(CLUSTER)]);
  await provision(stage, CLUSTER);

  page.heading('Apply an AWSFargateProfile for it');
  await news.during(() => run(props, ['apply', '-f', fromHere(SAMPLES)]));
  await orWithLog(stage, profiles.untilReady(READY_WITHIN_MS));

  page.heading('What is in AWS');
  showAws(page, whatIsThere(await stage.aws.world()));

  page.heading('What Kubernetes says');
  await run(props, ['get', 'awsfargateprofiles']);
  page.line();
  await run(props, ['describe', 'awsfargateprofiles']);
}

/** @throws when the profile is not gone in time, or anything is left in AWS */
export async function goesAway(props: Props): Promise<void> {
  const { page, stage, profiles, news } = props;
  page.heading('Delete it');
  await news.during(() => run(props, ['delete', '-f', fromHere(SAMPLES), '--wait=false']));
  await orWithLog(stage, profiles.untilGone(GONE_WITHIN_MS));

  page.heading('What is left in AWS');
  const world = await stage.aws.world();
  showAws(page, whatIsThere(world));
  const left = leftovers(world);
  if (left.length > 0) throw new Error(`the object is gone, but not what it stood for: ${left.join(', ')}`);

  page.heading('What is left in Kubernetes');
  await run(props, ['get', 'awsfargateprofiles']);
}

/** What to type, and what one sees then. */
export async function sayHowToGoOn({ page, stage }: Props): Promise<void> {
  const { controlPlane, aws, awsUrl, manager } = stage;
  const { region, cluster, name } = (await aws.profiles())[0] ?? {};
  page.heading('Go on in another terminal');
  page.line(`  export KUBECONFIG=${controlPlane.kubeconfigPath}`);
  page.line(`  alias kubectl=${controlPlane.kubectlPath}`);
  page.line(`  emulator=${awsUrl}/_emulator`);
  const suggestions: readonly (readonly [words: string, command: string])[] = [
    ['All columns, as they change', 'kubectl get awsfp -o wide -w'],
    ['Change a tag; then a subnet, which EKS cannot change', 'kubectl edit awsfp web'],
    ['What is in AWS; there are roles and calls too', 'curl -s $emulator/profiles | jq'],
    [
      'Take the profile away behind its back: it comes again within seconds',
      `curl -s $emulator/removeProfile -d '${JSON.stringify({ region, cluster, name })}'`,
    ],
    ['What the manager does, each call to AWS included', `tail -f ${manager.logPath}`],
    ['Delete profile and role', 'kubectl delete awsfp web'],
  ];
  for (const [words, command] of suggestions) {
    page.line();
    page.line(`  # ${words}`);
    page.line(`  ${command}`);
  }
  page.line('\nWhat happens to profiles shows below. Ctrl-C ends everything and removes it.\n');
}

function showAws(page: Page, things: ReturnType<typeof whatIsThere>): void {
  for (const thing of things) {
    page.line();
    for (const [label, values] of thing) {
      for (const [index, value] of values.entries()) page.row([index === 0 ? `  ${label}` : '', value], [20]);
    }
  }
}

/** Runs kubectl, and shows the command and its answer. */
export async function run({ page, stage }: Pick<Props, 'page' | 'stage'>, args: readonly string[]): Promise<void> {
  page.command(`kubectl ${args.join(' ')}`);
  const { code, stdout, stderr } = await kubectl(stage.controlPlane, args);
  page.line(`${stdout}${stderr}`.trimEnd());
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')} ended with exit code ${code}`);
}

export async function orWithLog(stage: Stage, waiting: Promise<void>): Promise<void> {
  try {
    await waiting;
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error);
    throw new Error(`${words}\n${endOfLog(stage.manager)}`, { cause: error });
  }
}

/** As one would type it. */
export const fromHere = (path: string): string => relative(process.cwd(), path);
