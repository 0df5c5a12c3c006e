import { eventually } from '../../support/eventually.ts';
import { HANG_LIMIT_MS } from '../../support/hang-limit.ts';
import type { ControlPlane } from './controlplane.ts';
import { compareInventories, type Inventory } from './inventory.ts';

/**
 * Waits until the keys and values of etcd and the served objects are equal to those of an inventory. If only the served
 * objects still differ after `timeoutMs`, a test cannot correct that. This function then reports the differences, stops
 * the control plane, and returns false.
 * @throws {Error} if keys of etcd differ after `timeoutMs`, with a list of the differences: a test has left something
 * behind that still writes
 */
export async function awaitInventory(
  { logs, stop }: Pick<ControlPlane, 'logs' | 'stop'>,
  read: () => Promise<Inventory>,
  expected: Inventory,
  { timeoutMs = HANG_LIMIT_MS, report = console.error }: { timeoutMs?: number; report?: (text: string) => void } = {},
): Promise<boolean> {
  let ofApiServer: readonly string[] = [];
  try {
    await eventually(
      async () => {
        ofApiServer = [];
        const differences = compareInventories(expected, await read());
        if (differences.inEtcd.length === 0) ofApiServer = differences.inApiServer;
        const all = [...differences.inEtcd, ...differences.inApiServer];
        if (all.length > 0) throw new Error(`\n${all.join('\n')}`);
      },
      { what: 'the reset of the control plane', timeoutMs },
    );
    return true;
  } catch (error) {
    if (ofApiServer.length === 0) throw error;
    report(`An API server could not be reset, and the pool stops it:\n${ofApiServer.join('\n')}\n${logs()}`);
    await stop();
    return false;
  }
}
