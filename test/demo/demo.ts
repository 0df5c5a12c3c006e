import { startControlPlane } from '../envtest/controlplane.ts';
import { Newsreel } from './newsreel.ts';
import type { Page } from './page.ts';
import { Profiles } from './profiles.ts';
import { becomesReady, goesAway, sayHowToGoOn } from './scenes.ts';
import { setStage } from './stage.ts';

export interface DemoOptions {
  /** Go on to the deletion and end, instead of staying. */
  readonly once: boolean;
  /** Aborted when the user has seen enough. */
  readonly stop: AbortSignal;
}

/** The demo was stopped before it had shown everything. */
export class Interrupted extends Error {}

/**
 * Shows the life of the AWSFargateProfile in config/samples. Whatever way it ends, what it started ends with it.
 * @throws {Interrupted} when it was stopped on the way
 */
export async function demo(page: Page, { once, stop }: DemoOptions): Promise<void> {
  const startedAt = performance.now();
  const stopped = new Promise<void>((resolve) => {
    stop.addEventListener('abort', () => resolve(), { once: true });
  });
  const interrupt = stopped.then(() => Promise.reject(new Interrupted()));
  interrupt.catch(() => undefined);

  page.heading('Starting');
  const controlPlane = await Promise.race([startControlPlane({ report: (line) => page.line(`  ${line}`) }), interrupt]);
  const watching = new AbortController();
  try {
    const stage = await Promise.race([setStage(page, controlPlane), interrupt]);
    const news = new Newsreel(page);
    const profiles = new Profiles(controlPlane.api, (each) => news.show(each));
    const broken = Promise.race([stage.broken, profiles.follow(watching.signal)]);
    const set = { page, stage, profiles, news };

    await Promise.race([becomesReady(set), interrupt, broken]);
    if (once) {
      await Promise.race([goesAway(set), interrupt, broken]);
    } else {
      await Promise.race([sayHowToGoOn(set), interrupt, broken]);
      await Promise.race([stopped, broken]);
    }
  } finally {
    watching.abort();
    await controlPlane.stop();
  }
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  page.line(
    once
      ? `\nAll is as it should be, after ${seconds} s.`
      : '\nAll processes have ended, and what they wrote is removed.',
  );
}
