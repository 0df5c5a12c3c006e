import { expect } from 'chai';
import { MemoryLogger } from '../../env/testing/memory-logger.ts';
import { findServed } from '../discovery.ts';
import { Reflector } from '../reflector.ts';
import { Store, type Change } from '../store.ts';
import type { World } from './fixtures.ts';

export interface Running extends World {
  readonly store: Store;
  readonly reflector: Reflector;
  readonly logger: MemoryLogger;
  /** `+name`, `~name`, `-name`, with `!` for those of the first list. */
  readonly changes: string[];
  /** Stops the reflector and waits for its end. */
  readonly stop: () => Promise<void>;
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

/** A reflector at work, on objects of the kind `widgets`. */
export function start(world: World): Running {
  const { clock, random, client } = world;
  const logger = new MemoryLogger();
  const store = new Store({ name: 'widgets.example.org', logger });
  const changes: string[] = [];
  store.onChange((change) => changes.push(textOf(change)));
  const resolve = (signal: AbortSignal) =>
    findServed(client, { group: 'example.org', plural: 'widgets', versions: ['v2', 'v1'] }, signal);
  const reflector = new Reflector({ client, store, resolve, clock, random, logger });
  const controller = new AbortController();
  const ended = reflector.run(controller.signal);
  const stop = async (): Promise<void> => {
    controller.abort();
    await ended;
    expect(clock.pendingTimers(), 'timers left armed').to.deep.equal([]);
    expect(world.server.openWatches, 'watches left open').to.equal(0);
  };
  return { ...world, store, reflector, logger, changes, stop };
}

/** One that has listed, with what that told forgotten. */
export async function startSynced(world: World): Promise<Running> {
  const running = start(world);
  await running.clock.runUntil(() => running.store.synced, { limitMs: 1_000 });
  await running.clock.settle();
  running.changes.length = 0;
  return running;
}

/** Of the pages of lists; a look at how much the server knows asks for one object. */
export const listsOf = ({ server }: World): number =>
  server.requests.filter(({ path }) => path.includes('/widgets?') && path.includes('limit=500')).length;

export const watchesOf = ({ server }: World): number =>
  server.requests.filter(({ path }) => path.includes('watch=true')).length;
