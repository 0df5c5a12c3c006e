import { eventually } from '../support/eventually.ts';
import type { Calls } from './calls.ts';
import type { World } from './world.ts';
import { fargateProfile } from './world.ts';

/** The lane's calls in the order in which they came: `Create default_a`, and the error where there was one. */
export const laneOf = (calls: Calls): readonly string[] =>
  calls
    .mutations()
    .filter(({ operation }) => operation.endsWith('FargateProfile'))
    .map(({ operation, nouns, errorCode }) =>
      [operation.replace('FargateProfile', ''), nouns['fargateProfileName'], errorCode].filter(Boolean).join(' '),
    );

/** Several profiles of one cluster, which EKS changes one after the other. */
export interface Queue {
  readonly start: (cluster: string, ...names: readonly string[]) => Promise<void>;
  /**
   * Whoever asks first goes first: the others come when EKS is busy with the first, and have said that they wait. It is busy
   * until the function that is returned is called.
   */
  readonly startBehind: (cluster: string, ...names: readonly string[]) => Promise<() => void>;
  /** Has EKS take for ever for what it begins during the task: it ends when `admin` says so, however busy the machine is. */
  readonly endlessly: (what: 'creations' | 'deletions', task: () => Promise<unknown>) => Promise<void>;
  /** Waits until EKS creates the profile of an object. */
  readonly creating: (name: string) => Promise<void>;
  readonly waitInLine: (...names: readonly string[]) => Promise<void>;
  readonly deleteAll: (names: readonly string[]) => Promise<void>;
  readonly allReady: (names: readonly string[]) => Promise<void>;
  readonly allGone: (names: readonly string[]) => Promise<void>;
  readonly warningsOf: (names: readonly string[]) => Promise<readonly string[]>;
}

/** What EKS has begun then ends when the test says so. */
const NEVER_MS = 3_600_000;
const PATIENCE = { timeoutMs: 90_000 };

/** @param world asked for when it is needed: a test has none before its hooks have run */
export function queueIn(world: () => World): Queue {
  const each = async (names: readonly string[], wait: (name: string) => Promise<unknown>): Promise<void> => {
    await Promise.all(names.map(wait));
  };
  const queue: Queue = {
    start: (cluster, ...names) => world().apply(...names.map((name) => fargateProfile(name, { clusterName: cluster }))),
    startBehind: async (cluster, ...names) => {
      const { admin } = world().aws;
      const [first = '', ...others] = names;
      await queue.endlessly('creations', async () => {
        await queue.start(cluster, first);
        await queue.creating(first);
      });
      await queue.start(cluster, ...others);
      await queue.waitInLine(...others);
      return () =>
        admin.setProfile({ cluster: `default_${cluster}-control-plane`, name: `default_${first}`, status: 'ACTIVE' });
    },
    endlessly: async (what, task) => {
      const { admin, model } = world().aws;
      const { createMs, deleteMs } = model.world.config.eks;
      admin.setConfig({ eks: what === 'creations' ? { createMs: NEVER_MS } : { deleteMs: NEVER_MS } });
      try {
        await task();
      } finally {
        admin.setConfig({ eks: { createMs, deleteMs } });
      }
    },
    creating: async (name) => {
      await eventually(() => world().inAws.profile(`default_${name}`)?.status === 'CREATING', { intervalMs: 20 });
    },
    waitInLine: (...names) =>
      each(names, (name) => world().condition(name, 'Reconciling', { status: 'True', reason: 'WaitingForSibling' })),
    deleteAll: (names) => each(names, (name) => world().delete(name)),
    allReady: (names) => each(names, (name) => world().ready(name, PATIENCE)),
    allGone: (names) => each(names, (name) => world().gone(name, PATIENCE)),
    warningsOf: async (names) => {
      const events = await Promise.all(names.map((name) => world().events(name)));
      return events.flat().filter((event) => event.startsWith('Warning'));
    },
  };
  return queue;
}
