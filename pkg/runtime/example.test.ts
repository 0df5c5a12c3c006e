import { expect } from 'chai';
import { MemoryLogger } from '../env/testing/memory-logger.ts';
import { Reflector } from '../kube/cache/reflector.ts';
import { Store } from '../kube/cache/store.ts';
import { keyOf } from '../kube/object-key.ts';
import { keyFor, newFakeApiEnvironment, widgets } from '../kube/testing/fixtures.ts';
import { Controller } from './controller.ts';
import { Manager } from './manager.ts';
import { Workqueue } from './queue/workqueue.ts';
import type { Reconcile } from './reconcile.ts';

describe('The example of the README', () => {
  it('is a controller that sets the status of each Widget', async () => {
    const { client, clock, random, server, make } = newFakeApiEnvironment();
    const logger = new MemoryLogger();

    const store = new Store({ name: 'widgets.example.org', logger });
    const resolve = () => Promise.resolve(widgets);
    const queue = new Workqueue({ clock });
    store.onChange(({ object }) => queue.add(keyOf(object)));

    const reconcile: Reconcile = async (key, { signal }) => {
      const widget = store.lookup(key);
      if (widget.kind === 'unknown') return { kind: 'backoff', reason: widget.reason };
      if (widget.kind === 'absent') return { kind: 'done' };
      const status = { ready: true };
      store.replaceWith(await client.mergePatch(widgets, key, { status }, { subresource: 'status', signal }));
      return { kind: 'after', delay: 600_000, reason: 'resync' };
    };

    const object = { group: widgets.group, kind: 'Widget' };
    const manager = new Manager({ clock, logger });
    manager.add('cache', new Reflector({ client, store, resolve, clock, random, logger }));
    manager.add(
      'controller',
      new Controller({ name: 'widget', object, concurrency: 2, queue, reconcile, clock, random, logger }),
    );
    const stop = new AbortController();
    const ended = manager.run(stop.signal);

    make('early');
    await clock.advance(1_000);
    make('late');
    await clock.advance(1_000);
    const statusOf = (name: string) => server.storage.get(server.kind('widgets'), keyFor(name))?.['status'];
    expect([statusOf('early'), statusOf('late')]).to.deep.equal([{ ready: true }, { ready: true }]);
    stop.abort();
    await ended;
    expect([clock.pendingTimers(), server.openWatches]).to.deep.equal([[], 0]);
  });
});
