import { type ControlPlane, startControlPlane } from '../../test/envtest/control-plane/controlplane.ts';
import { ProfileProgress } from './output/profile-progress.ts';
import type { Printer } from './output/printer.ts';
import { ProfileWatcher } from './profile-watcher.ts';
import { showProfileCreation, showProfileDeletion, showNextSteps } from './profile-demo.ts';
import { showReplacement } from './replace-demo.ts';
import { startEnvironment } from './environment.ts';
import { runInstanceGroupDemo } from './instance-group-demo.ts';
import type { StopConditions } from './stop-conditions.ts';
import { runTeardownDemo } from './teardown-demo.ts';

/**
 * `stay`: the demo creates a Fargate profile and runs until Ctrl-C. `once`: the demo creates and deletes a Fargate
 * profile. `teardown`: the demo deletes a Cluster with three Fargate profiles.
 */
export type DemoMode = 'stay' | 'once' | 'teardown';

/** The kind of the object that the demo creates in all modes except `teardown`. */
export type DemoSubject = 'AWSFargateProfile' | 'InstanceGroup';

export interface DemoOptions {
  readonly mode: DemoMode;
  readonly subject: DemoSubject;
  /** Whether the demo changes the AWSFargateProfile so that its Fargate profile has to be replaced. */
  readonly isReplaced: boolean;
  /** This signal is aborted when the user interrupts the demo. */
  readonly stop: AbortSignal;
}

/** The error with which the demo ends when the user interrupts it. */
export class Interrupted extends Error {}

/**
 * Runs the demo: shows the AWSFargateProfile in config/samples, or the InstanceGroup in the documentation of keiko, or
 * the teardown of a cluster with three AWSFargateProfiles. Before it returns, the demo stops all processes that it has
 * started.
 * @throws {Interrupted} when the user interrupts the demo before it is complete
 */
export async function runDemo(printer: Printer, { mode, subject, isReplaced, stop }: DemoOptions): Promise<void> {
  const startedAt = performance.now();
  const stopped = new Promise<void>((resolve) => {
    stop.addEventListener('abort', () => resolve(), { once: true });
  });
  const interrupt = stopped.then(() => Promise.reject(new Interrupted()));
  interrupt.catch(() => undefined);

  printer.heading('Starting');
  const controlPlane = await Promise.race([
    startControlPlane({ report: (line) => printer.line(`  ${line}`) }),
    interrupt,
  ]);
  const watching = new AbortController();
  const { signal } = watching;
  try {
    if (mode === 'teardown') await runTeardownDemo(printer, controlPlane, { signal, interrupt });
    else {
      const conditions = { signal, interrupt, stopped: mode === 'once' ? undefined : stopped };
      if (subject === 'InstanceGroup') await runInstanceGroupDemo(printer, controlPlane, conditions);
      else await runProfileDemo(printer, controlPlane, { ...conditions, isReplaced });
    }
  } finally {
    watching.abort();
    await controlPlane.stop();
  }
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  printer.line(
    mode === 'stay'
      ? '\nAll processes are stopped, and their files are removed.'
      : `\nThe demo succeeded after ${seconds} s.`,
  );
}

async function runProfileDemo(
  printer: Printer,
  controlPlane: ControlPlane,
  { signal, interrupt, stopped, isReplaced }: StopConditions & Pick<DemoOptions, 'isReplaced'>,
): Promise<void> {
  const environment = await Promise.race([startEnvironment(printer, controlPlane), interrupt]);
  const progress = new ProfileProgress(printer);
  const profiles = new ProfileWatcher(controlPlane.api, (each) => progress.show(each));
  const processExited = Promise.race([environment.processExited, profiles.follow(signal)]);
  const context = { printer, environment, profiles, progress };

  await Promise.race([showProfileCreation(context), interrupt, processExited]);
  if (isReplaced) await Promise.race([showReplacement(context, interrupt), processExited]);
  if (stopped === undefined) {
    await Promise.race([showProfileDeletion(context), interrupt, processExited]);
  } else {
    await Promise.race([showNextSteps(context), interrupt, processExited]);
    await Promise.race([stopped, processExited]);
  }
}
