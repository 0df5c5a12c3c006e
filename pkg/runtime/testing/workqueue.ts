import { VirtualClock } from '../../env/testing/virtual-clock.ts';
import type { ObjectKey } from '../../kube/types.ts';
import { Workqueue } from '../queue/workqueue.ts';

export const key = (name: string): ObjectKey => ({ namespace: 'default', name });

export const startQueue = (): { readonly clock: VirtualClock; readonly queue: Workqueue } => {
  const clock = new VirtualClock();
  return { clock, queue: new Workqueue({ clock }) };
};

/**
 * Takes all ready keys from the workqueue in order, and marks each key as done before it takes the next one. Returns
 * the names of the keys.
 */
export async function takeAll(queue: Workqueue): Promise<readonly string[]> {
  const names: string[] = [];
  while (queue.length > 0) {
    const next = await queue.get();
    if (next === undefined) break;
    names.push(next.name);
    queue.done(next);
  }
  return names;
}
