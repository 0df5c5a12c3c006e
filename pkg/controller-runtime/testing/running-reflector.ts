import { expect } from 'chai';
import { MemoryLogger } from './memory-logger.ts';
import { findServed } from '../client/discovery.ts';
import { Reflector } from '../cache/reflector.ts';
import { Store, type Change } from '../cache/store.ts';
import { type FakeApiEnvironment, GRANT } from './fixtures.ts';

export interface RunningReflector extends FakeApiEnvironment {
  readonly store: Store;
  readonly reflector: Reflector;
  readonly logger: MemoryLogger;
  /** The reported changes: `+name` for added (`+name!` in the first list), `~name` for updated, `-name` for deleted. */
  readonly changes: string[];
}

const textOf = (change: Change): string => {
  const { name } = change.object.metadata;
  switch (change.type) {
    case 'added':
      return `+${name}${change.isInInitialList ? '!' : ''}`;
    case 'updated':
      return `~${name}`;
    case 'deleted':
      return `-${name}`;
  }
};

/** Functions that stop the reflectors of a test. */
const stops: (() => Promise<void>)[] = [];

/** Stops a test's reflectors and checks that they leave nothing behind. */
export const stopReflectors = (): Promise<unknown> => Promise.all(stops.splice(0).map((stop) => stop()));

export function startReflector(environment: FakeApiEnvironment): RunningReflector {
  const { clock, random, client } = environment;
  const logger = new MemoryLogger();
  const store = new Store({ name: 'widgets.example.org', logger });
  const changes: string[] = [];
  store.onChange((change) => changes.push(textOf(change)));
  const resolve = (signal: AbortSignal) =>
    findServed(client, { group: 'example.org', plural: 'widgets', versions: ['v2', 'v1'] }, signal);
  const reflector = new Reflector({ client, store, resolve, clock, random, logger, grant: GRANT });
  const controller = new AbortController();
  const ended = reflector.run(controller.signal);
  const stop = async (): Promise<void> => {
    controller.abort();
    await ended;
    expect(clock.pendingTimers(), 'timers left armed').to.deep.equal([]);
    expect(environment.server.openWatches, 'watches left open').to.equal(0);
  };
  stops.push(stop);
  return { ...environment, store, reflector, logger, changes };
}

/** Starts a reflector and waits for the first complete list, whose changes are not recorded. */
export async function startSyncedReflector(environment: FakeApiEnvironment): Promise<RunningReflector> {
  const running = startReflector(environment);
  await running.clock.runUntil(() => running.store.synced, { limitMs: 1_000 });
  await running.clock.settle();
  running.changes.length = 0;
  return running;
}

/** Returns how many pages of full lists were requested. Only a full list has limit=500. */
export const listsOf = ({ server }: FakeApiEnvironment): number =>
  server.requests.filter(({ path }) => path.includes('/widgets?') && path.includes('limit=500')).length;

export const watchesOf = ({ server }: FakeApiEnvironment): number =>
  server.requests.filter(({ path }) => path.includes('watch=true')).length;
