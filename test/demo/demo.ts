import { startControlPlane } from '../envtest/controlplane.ts';
import type { ControlPlane } from '../envtest/controlplane.ts';
import { Newsreel } from './newsreel.ts';
import type { Page } from './page.ts';
import { Profiles } from './profiles.ts';
import { becomesReady, goesAway, sayHowToGoOn } from './scenes.ts';
import { setStage } from './stage.ts';
import { clusterGoes } from './teardown.ts';

/** `stay`: a profile becomes Ready. `once`: it goes again, and that is the end. `teardown`: a whole cluster goes. */
export type Story = 'stay' | 'once' | 'teardown';

export interface DemoOptions {
  readonly story: Story;
  /** Aborted when the user has seen enough. */
  readonly stop: AbortSignal;
}

/** The demo was stopped before it had shown everything. */
export class Interrupted extends Error {}

/**
 * Shows the life of the AWSFargateProfile in config/samples, or the end of a cluster with three of them. Whatever way it
 * ends, what it started ends with it.
 * @throws {Interrupted} when it was stopped on the way
 */
export async function demo(page: Page, { story, stop }: DemoOptions): Promise<void> {
  const startedAt = performance.now();
  const stopped = new Promise<void>((resolve) => {
    stop.addEventListener('abort', () => resolve(), { once: true });
  });
  const interrupt = stopped.then(() => Promise.reject(new Interrupted()));
  interrupt.catch(() => undefined);

  page.heading('Starting');
  const controlPlane = await Promise.race([startControlPlane({ report: (line) => page.line(`  ${line}`) }), interrupt]);
  const watching = new AbortController();
  const { signal } = watching;
  try {
    if (story === 'teardown') await clusterGoes(page, controlPlane, { signal, interrupt });
    else await profileLives(page, controlPlane, { signal, interrupt, stopped: story === 'once' ? undefined : stopped });
  } finally {
    watching.abort();
    await controlPlane.stop();
  }
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  page.line(
    story === 'stay'
      ? '\nAll processes have ended, and what they wrote is removed.'
      : `\nAll is as it should be, after ${seconds} s.`,
  );
}

interface Ends {
  /** Ends what is followed in the background. */
  readonly signal: AbortSignal;
  /** Rejects when the user has seen enough. */
  readonly interrupt: Promise<never>;
  /** Resolves when the user has seen enough; absent where nobody is waited for. */
  readonly stopped: Promise<void> | undefined;
}

async function profileLives(
  page: Page,
  controlPlane: ControlPlane,
  { signal, interrupt, stopped }: Ends,
): Promise<void> {
  const stage = await Promise.race([setStage(page, controlPlane), interrupt]);
  const news = new Newsreel(page);
  const profiles = new Profiles(controlPlane.api, (each) => news.show(each));
  const broken = Promise.race([stage.broken, profiles.follow(signal)]);
  const set = { page, stage, profiles, news };

  await Promise.race([becomesReady(set), interrupt, broken]);
  if (stopped === undefined) {
    await Promise.race([goesAway(set), interrupt, broken]);
  } else {
    await Promise.race([sayHowToGoOn(set), interrupt, broken]);
    await Promise.race([stopped, broken]);
  }
}
