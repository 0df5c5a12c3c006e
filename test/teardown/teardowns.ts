import { setTimeout as delay } from 'node:timers/promises';
import type { Context } from 'mocha';
import type { CallRecord } from '../aws/call-log.ts';
import { eventually } from '../support/eventually.ts';
import type { Audit, AuditEvent } from '../world/audit.ts';
import { auditOf } from '../world/audit.ts';
import { startClusterApi } from '../world/cluster-api.ts';
import { OWN_NAMESPACE } from '../world/identities.ts';
import type { RunningManager } from '../world/manager.ts';
import { startManager } from '../world/manager.ts';
import type { World } from '../world/world.ts';
import { startWorld } from '../world/world.ts';
import { TeardownCell, accountOf } from './cell.ts';
import { EndWatch } from './ends.ts';
import type { Moment } from './moment.ts';
import { momentText } from './moment.ts';

/** Deletions are driven by looks (see TeardownCell). */
const EKS = { createMs: 50, deleteMs: 3_600_000, clusterDeleteMs: 50 };
/** No call for so long: the manager is at rest. */
const QUIET_MS = 300;
/** Managers at once. */
export const LANES = 4;

const RECORDED = {
  'infrastructure.cluster.x-k8s.io': ['awsfargateprofiles', 'awsfargateprofiles/status'],
  'controlplane.cluster.x-k8s.io': ['awsmanagedcontrolplanes'],
  'cluster.x-k8s.io': ['clusters'],
};

export interface Outcome {
  readonly moment: Moment;
  /** The calls of the teardown that got to AWS. */
  readonly calls: readonly CallRecord[];
  /** The call at which the manager was killed; absent: the teardown was over before. */
  readonly struck?: CallRecord;
  /** What went wrong. */
  readonly words?: string;
}

/**
 * A management cluster in which clusters with four profiles are torn down, a fresh one for each moment at which the manager
 * is killed. Some go on side by side, each in a namespace with a manager of its own.
 */
export class Teardowns {
  readonly #world: World;
  readonly #audit: Audit;
  readonly #ends: EndWatch;
  readonly #cells = new Map<string, TeardownCell>();

  /** Skips, loudly, where Cluster API's core manager or the garbage collector cannot be had. */
  static async start(test: Context): Promise<Teardowns> {
    const audit = await auditOf(RECORDED);
    const world = await startWorld({ config: { eks: EKS }, apiServerArgs: audit.apiServerArgs });
    world.endWith(() => audit.close());
    try {
      await world.createNamespace(OWN_NAMESPACE);
      await startClusterApi(world, test, accountOf);
      return new Teardowns(world, audit);
    } catch (error) {
      await world.stop();
      throw error;
    }
  }

  private constructor(world: World, audit: Audit) {
    this.#world = world;
    this.#audit = audit;
    this.#ends = new EndWatch(world);
    world.endWith(() => this.#ends.stop());
    world.aws.onCall((call, phase) => this.#cells.get(call.account ?? '')?.onCall(call, phase));
  }

  async finish(): Promise<void> {
    await this.#world.finish();
  }

  /** Lives through a fresh teardown for each moment. */
  async run(moments: readonly Moment[]): Promise<readonly Outcome[]> {
    const rest = moments[Symbol.iterator]();
    const lanes = Array.from({ length: Math.min(LANES, moments.length) }, async (_, index) => {
      const lane = await this.#openLane(`lane-${this.#cells.size}-${index}`);
      const outcomes: Outcome[] = [];
      for (const moment of rest) outcomes.push(await this.#live(moment, lane));
      await lane.end();
      return outcomes;
    });
    return (await Promise.all(lanes)).flat();
  }

  async #live(moment: Moment, lane: Lane): Promise<Outcome> {
    const number = this.#cells.size + 1;
    const cell = new TeardownCell(this.#world, number, lane.namespace);
    this.#cells.set(cell.account, cell);
    try {
      await cell.open();
      await quiet(cell);
      await cell.begin(moment, () => lane.kill());
      await cell.untilDeadOrOver();
      const { struck } = cell;
      if (struck !== undefined) await lane.start();
      await cell.untilOver();
      const wrong = cell.wrong(await this.#recordOf(cell), await this.#ends.of(cell.cluster, cell.size));
      const words = [momentText(moment), ...wrong, await cell.tell()].join('\n    ');
      return { moment, calls: cell.calls, ...(struck && { struck }), ...(wrong.length > 0 && { words }) };
    } catch (error) {
      const words = error instanceof Error ? error.message : String(error);
      return { moment, calls: cell.calls, words: `${momentText(moment)}: ${words}` };
    } finally {
      cell.close();
      await lane.mend();
    }
  }

  /** The API server writes a request down once it has answered it: the end of the Cluster may come a moment late. */
  async #recordOf({ cluster }: TeardownCell): Promise<readonly AuditEvent[]> {
    return eventually(
      async () => {
        const events = await this.#audit.read();
        const ofCluster = events.filter(
          ({ objectRef }) => objectRef.resource === 'clusters' && objectRef.name === cluster.name,
        );
        const last = ofCluster.at(-1)?.object;
        return (last === undefined || (last.metadata.finalizers ?? []).length === 0) && events;
      },
      { what: `the record of the end of Cluster ${cluster.name}` },
    );
  }

  async #openLane(namespace: string): Promise<Lane> {
    await this.#world.createNamespace(namespace);
    const lane = new Lane(this.#world, namespace);
    await lane.start();
    return lane;
  }
}

/** A namespace with a manager of its own, one at a time. */
class Lane {
  readonly namespace: string;
  readonly #world: World;
  #manager: RunningManager | undefined;
  #isKilled = false;

  constructor(world: World, namespace: string) {
    this.#world = world;
    this.namespace = namespace;
  }

  async start(): Promise<void> {
    const { controlPlane, awsUrl } = this.#world;
    const flags = ['--namespace', this.namespace, '--sync-period', '1h'];
    this.#manager = await startManager(controlPlane, {
      awsUrl,
      name: `manager-${this.namespace}`,
      flags,
      verbosity: 0,
    });
    this.#isKilled = false;
  }

  /** Where a cell went wrong after its kill, there is a manager for the next one all the same. */
  async mend(): Promise<void> {
    if (this.#isKilled) await this.start();
  }

  async kill(): Promise<void> {
    this.#isKilled = true;
    this.#manager?.kill('SIGKILL');
    await this.#manager?.exited;
  }

  /** As a rollout does; none of its managers has panicked. */
  async end(): Promise<void> {
    const manager = this.#manager;
    if (manager === undefined) return;
    const { code, signal } = await manager.stop();
    if (code !== 0) throw new Error(`the manager ended with ${code ?? signal}:\n${manager.tail()}`);
    if (manager.log().includes('Observed a panic')) throw new Error(`a manager panicked:\n${manager.log()}`);
  }
}

async function quiet(cell: TeardownCell): Promise<void> {
  for (;;) {
    const before = cell.arrivals;
    await delay(QUIET_MS);
    if (cell.arrivals === before) return;
  }
}
