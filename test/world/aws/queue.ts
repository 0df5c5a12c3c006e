import { eventually } from '../../support/eventually.ts';
import type { Calls } from './calls.ts';
import type { World } from '../world.ts';
import { fargateProfile } from '../world.ts';

/**
 * The AWS calls that create or delete Fargate profiles, as texts in the order of arrival: `Create default_a` for a
 * successful call of CreateFargateProfile, `Delete default_a <error code>` for a failed call of DeleteFargateProfile.
 */
export const profileMutations = (calls: Calls): readonly string[] =>
  calls
    .mutations()
    .filter(({ operation }) => operation.endsWith('FargateProfile'))
    .map(({ operation, identifiers, errorCode }) =>
      [operation.replace('FargateProfile', ''), identifiers['fargateProfileName'], errorCode].filter(Boolean).join(' '),
    );

/**
 * Functions that change several AWSFargateProfiles of one EKS cluster, or wait for their states. EKS creates or deletes
 * only one Fargate profile of an EKS cluster at a time, so the manager makes the other profiles wait in a queue.
 */
export interface ProfileQueue {
  readonly start: (cluster: string, ...names: readonly string[]) => Promise<void>;
  /**
   * Creates the AWSFargateProfile with the first name and waits until its Fargate profile is CREATING. Then creates the
   * AWSFargateProfiles with the other names, and waits until the manager reports that they wait for the first one. The
   * first Fargate profile becomes ACTIVE when the test calls the returned function.
   */
  readonly startQueued: (cluster: string, ...names: readonly string[]) => Promise<() => void>;
  /**
   * Runs the given function. A creation (with `what` = `creations`) or deletion (with `what` = `deletions`) of a
   * Fargate profile that starts meanwhile never completes in EKS by itself. It ends when the test calls
   * `admin.setProfile` or `admin.removeProfile`.
   */
  readonly withEndlessChanges: (what: 'creations' | 'deletions', task: () => Promise<unknown>) => Promise<void>;
  /** Waits until EKS reports the Fargate profile of this AWSFargateProfile as CREATING. */
  readonly waitUntilCreating: (name: string) => Promise<void>;
  readonly waitUntilQueued: (...names: readonly string[]) => Promise<void>;
  readonly deleteAll: (names: readonly string[]) => Promise<void>;
  readonly waitUntilReady: (names: readonly string[]) => Promise<void>;
  readonly waitUntilGone: (names: readonly string[]) => Promise<void>;
  readonly warningsOf: (names: readonly string[]) => Promise<readonly string[]>;
}

const ENDLESS_MS = 3_600_000;

/**
 * @param world a function that returns the test environment, because the test file calls `profileQueueOf` before it has
 * started its environment
 */
export function profileQueueOf(world: () => World): ProfileQueue {
  const each = async (names: readonly string[], wait: (name: string) => Promise<unknown>): Promise<void> => {
    await Promise.all(names.map(wait));
  };
  const queue: ProfileQueue = {
    start: (cluster, ...names) => world().apply(...names.map((name) => fargateProfile(name, { clusterName: cluster }))),
    startQueued: async (cluster, ...names) => {
      const { admin } = world().aws;
      const [first = '', ...others] = names;
      await queue.withEndlessChanges('creations', async () => {
        await queue.start(cluster, first);
        await queue.waitUntilCreating(first);
      });
      await queue.start(cluster, ...others);
      await queue.waitUntilQueued(...others);
      return () =>
        admin.setProfile({ cluster: `default_${cluster}-control-plane`, name: `default_${first}`, status: 'ACTIVE' });
    },
    withEndlessChanges: async (what, task) => {
      const { admin, model } = world().aws;
      const { createMs, deleteMs } = model.state.config.eks;
      admin.setConfig({ eks: what === 'creations' ? { createMs: ENDLESS_MS } : { deleteMs: ENDLESS_MS } });
      try {
        await task();
      } finally {
        admin.setConfig({ eks: { createMs, deleteMs } });
      }
    },
    waitUntilCreating: async (name) => {
      await eventually(() => world().awsView.profile(`default_${name}`)?.status === 'CREATING', { intervalMs: 20 });
    },
    waitUntilQueued: (...names) =>
      each(names, (name) => world().condition(name, 'Reconciling', { status: 'True', reason: 'WaitingForSibling' })),
    deleteAll: (names) => each(names, (name) => world().delete(name)),
    waitUntilReady: (names) => each(names, (name) => world().ready(name)),
    waitUntilGone: (names) => each(names, (name) => world().gone(name)),
    warningsOf: async (names) => {
      const events = await Promise.all(names.map((name) => world().events(name)));
      return events.flat().filter((event) => event.startsWith('Warning'));
    },
  };
  return queue;
}
