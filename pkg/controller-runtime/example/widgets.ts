import { Reflector, Store } from 'controller-runtime/cache';
import { keyOf, type KubeClient, type Resource } from 'controller-runtime/client';
import { Controller, type Reconcile } from 'controller-runtime/controller';
import type { Clock, Random } from 'controller-runtime/env';
import type { Logger } from 'controller-runtime/log';
import { Manager } from 'controller-runtime/manager';
import { Workqueue } from 'controller-runtime/queue';

const widgets: Resource = { group: 'example.org', version: 'v1', plural: 'widgets' };

export function newWidgetManager(client: KubeClient, clock: Clock, random: Random, logger: Logger): Manager {
  const store = new Store({ name: 'widgets.example.org', logger });
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

  const resolve = () => Promise.resolve(widgets);
  const object = { group: widgets.group, kind: 'Widget' };
  const manager = new Manager({ clock, logger });
  manager.add('cache', new Reflector({ client, store, resolve, clock, random, logger }));
  const options = { name: 'widget', object, concurrency: 2, queue, reconcile, clock, random, logger };
  manager.add('controller', new Controller(options));
  return manager;
}
