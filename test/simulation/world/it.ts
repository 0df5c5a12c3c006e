import { keyOf } from 'controller-runtime/client';
import { PLURAL } from '../../../api/v1beta2/index.ts';
import { removeHeldFinalizers } from '../phases/phase.ts';
import { MINUTE } from './cluster.ts';
import { SimulatedWorld } from './simulated-world.ts';

/**
 * Returns a function that defines a mocha test, which gets a simulation of its own. After the test, deletes the
 * AWSFargateProfiles that are left, and expects that nothing remains of them.
 */
export const itIn =
  <W extends SimulatedWorld>(createWorld: () => W) =>
  (title: string, body: (world: W) => Promise<void>): void => {
    globalThis.it(title, async () => {
      const world = createWorld();
      await body(world);
      removeHeldFinalizers(world);
      for (const object of world.objects(PLURAL)) world.api.storage.delete(world.api.kind(PLURAL), keyOf(object));
      await world.until('the deletion of all objects', () => world.objects(PLURAL).length === 0, 60 * MINUTE);
      await world.finish();
    });
  };

/** Defines a test in a simulation without options. */
export const it = itIn(() => new SimulatedWorld());
