import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { OWN_NAMESPACE } from '../world/identities.ts';
import type { World } from '../world/world.ts';
import { startWorld } from '../world/world.ts';
import { Cell, callText } from './cell.ts';
import type { GridCell } from './cells.ts';
import { cellText } from './cells.ts';
import { Kill } from './kill.ts';
import type { Scenario } from './scenarios.ts';
import { SCENARIOS } from './scenarios.ts';
import { comparable, differencesOf } from './comparable.ts';
import type { Comparable } from './comparable.ts';

const PROFILES = '/apis/infrastructure.cluster.x-k8s.io/v1beta2/awsfargateprofiles';
/** Time is driven by looks (see Cell). */
const NEVER = 3_600_000;
/** Cells at once: most of their time they wait. */
const PARALLEL = 48;
/** Cells that share one `kill -9`: so few that all get to their call within seconds. */
const PER_KILL = 24;
/** A cell that gets to its call after the kill is killed again, in a group half as big each time. */
const MOST_KILLS = 4;
/** No call for so long: the manager is done. */
const QUIET_MS = 1_500;

/** How a scenario goes where nothing goes wrong: what each cell is measured by. */
export interface Twin {
  /** The operations between the scenario's beginning and its end, in order. */
  readonly operations: readonly string[];
  readonly end: Comparable;
  /** How many profiles and roles were made in all. */
  readonly made: readonly number[];
  /** What a human was asked to see to. */
  readonly stalled: readonly string[];
}

export interface Failure {
  readonly cell: GridCell;
  readonly words: string;
}

/** `late`: the manager was killed before the cell got to its call. */
type Outcome = { readonly kind: 'lived' | 'late' } | { readonly kind: 'failed'; readonly words: string };

/** One control plane, one emulated AWS and one manager at a time, for all cells. */
export class Grid {
  readonly #world: World;
  #opened = 0;
  /** Those that are being lived in. */
  readonly #cells = new Map<string, Cell>();
  readonly #byKey = new Map<string, Cell>();
  readonly #watching: AbortController;
  readonly #watched: Promise<void>;
  #twins: ReadonlyMap<string, Twin> = new Map();

  static async start(): Promise<Grid> {
    const world = await startWorld({ config: { eks: { createMs: NEVER, deleteMs: NEVER } } });
    try {
      await world.createNamespace(OWN_NAMESPACE);
      const grid = new Grid(world);
      await grid.#startManager();
      return grid;
    } catch (error) {
      await world.stop();
      throw error;
    }
  }

  private constructor(world: World) {
    this.#world = world;
    this.#watching = new AbortController();
    this.#watched = this.#watch();
    this.#watched.catch(() => undefined);
    world.aws.onCall((call, phase) => this.#byKey.get(call.accessKeyId ?? '')?.onCall(call, phase));
  }

  /** Rejects when a version may have been missed; resolves at the end. */
  async #watch(): Promise<void> {
    const { signal } = this.#watching;
    const { api } = this.#world.controlPlane;
    let { resourceVersion } = (await api.list(PROFILES)).metadata;
    // The API server ends the watch of a client that does not keep up, as this one may on a busy machine.
    while (!signal.aborted) {
      for await (const event of api.watch(PROFILES, { resourceVersion }, signal)) {
        if (event.type === 'ERROR') throw new Error(`watching the profiles: ${JSON.stringify(event.object)}`);
        this.#cells.get(event.object.metadata.namespace ?? '')?.told(event);
        ({ resourceVersion } = event.object.metadata);
      }
    }
  }

  async #startManager(): Promise<void> {
    await this.#world.startManager({ flags: ['--awsfargateprofile-concurrency', '100', '--sync-period', '1h'] });
  }

  async stop(): Promise<void> {
    this.#watching.abort();
    try {
      await this.#watched;
    } finally {
      await this.#world.finish();
    }
  }

  /** Lives through each scenario once without faults: tells the calls that can go wrong. */
  async rehearse(): Promise<ReadonlyMap<string, readonly string[]>> {
    const twins = await Promise.all(
      SCENARIOS.map((scenario) =>
        this.#inCell(async (cell) => [scenario.name, await this.#rehearsal(scenario, cell)] as const),
      ),
    );
    this.#twins = new Map(twins);
    return new Map(twins.map(([name, { operations }]) => [name, operations]));
  }

  async #rehearsal(scenario: Scenario, cell: Cell): Promise<Twin> {
    await scenario.prepare(cell);
    await quiet(cell);
    const before = cell.calls.length;
    await scenario.trigger(cell);
    await cell.until('the end of the scenario', () => scenario.isOver(cell));
    await quiet(cell);
    const operations = cell.calls.slice(before).map(({ operation }) => operation);
    const end = comparable(cell);
    await this.#remove(cell);
    expect(cell.findings, `${scenario.name} without faults`).to.deep.equal([]);
    return { operations, end, made: timesOf(cell), stalled: cell.witness.reasonsOf('Stalled') };
  }

  /** Lives through the cells; tells what went wrong with which. */
  async run(cells: readonly GridCell[]): Promise<readonly Failure[]> {
    const failures: Failure[] = [];
    const attempt = async (cell: GridCell, kill?: Kill): Promise<Outcome> => {
      const outcome = await this.#attempt(cell, kill);
      if (outcome.kind === 'failed') failures.push({ cell, words: outcome.words });
      return outcome;
    };
    const watchBroke = this.#watched.then(() => Promise.reject(new Error('the watch has ended')));
    const isKill = ({ fault }: GridCell): boolean => fault === 'kill';
    const others = cells.filter((cell) => !isKill(cell));
    await Promise.race([watchBroke, inParallel(others, PARALLEL, async (cell) => void (await attempt(cell)))]);
    let left = cells.filter(isKill);
    for (let kills = 0; left.length > 0 && kills < MOST_KILLS; kills++) {
      const late: GridCell[] = [];
      for (const group of chunks(left, Math.ceil(PER_KILL / 2 ** kills))) {
        const inGroup = async (kill: Kill): Promise<void> => {
          const outcomes = await Promise.all(group.map((cell) => attempt(cell, kill)));
          late.push(...group.filter((_, index) => outcomes[index]?.kind === 'late'));
        };
        await Promise.race([watchBroke, this.#killing(group.length, inGroup)]);
      }
      left = late;
    }
    const words = `the manager was always killed too early, ${MOST_KILLS} times`;
    return [...failures, ...left.map((cell) => ({ cell, words: `${cellText(cell)}: ${words}` }))];
  }

  /** Kills the manager once in the course of what is done, and starts the next. */
  async #killing(cells: number, work: (kill: Kill) => Promise<void>): Promise<void> {
    const kill = new Kill(cells);
    const carriedOut = kill.carryOut(
      async () => {
        const { manager } = this.#world;
        manager.kill('SIGKILL');
        await manager.exited;
      },
      () => this.#startManager(),
    );
    await Promise.all([carriedOut, work(kill)]);
  }

  async #attempt(plan: GridCell, kill: Kill | undefined): Promise<Outcome> {
    try {
      return await this.#inCell((cell) => this.#live(plan, cell, kill));
    } catch (error) {
      const words = error instanceof Error ? error.message : String(error);
      return { kind: 'failed', words: `${cellText(plan)}: ${words}` };
    }
  }

  async #live({ scenario: name, call, fault }: GridCell, cell: Cell, kill: Kill | undefined): Promise<Outcome> {
    const scenario = SCENARIOS.find((each) => each.name === name);
    const twin = this.#twins.get(name);
    if (scenario === undefined || twin === undefined) throw new Error('there was no rehearsal');
    let struck = (): boolean => false;
    try {
      await scenario.prepare(cell);
      await quiet(cell);
      if (fault === 'kill') struck = killAfter(cell, call, kill);
      else struck = this.#arm(cell, call, fault);
    } catch (error) {
      kill?.giveUp();
      throw error;
    }
    await kill?.ready();
    await scenario.trigger(cell);
    await kill?.survived();
    if (kill !== undefined && !struck()) {
      await this.#remove(cell);
      return { kind: 'late' };
    }
    if (kill !== undefined && scenario.isFoundByLooking === true) await cell.lookAgain();

    await this.#expectEnd(cell, twin, call, struck);
    await this.#remove(cell);
    const wrong = [
      ...(fault === 'kill' ? [] : this.#missesOf(cell, call, fault)),
      ...cell.findings,
      ...differencesBetween('made how often', timesOf(cell), twin.made),
      // What passes by itself is nothing to call a human for.
      ...cell.witness
        .reasonsOf('Stalled')
        .flatMap((reason) => (twin.stalled.includes(reason) ? [] : [`a human was called for: ${reason}`])),
    ];
    if (wrong.length > 0) throw new Error(`${wrong.join('\n    ')}\n${cell.tell()}`);
    return { kind: 'lived' };
  }

  /** Once the fault has struck, it comes to the end that it has where nothing goes wrong, and stays there. */
  async #expectEnd(cell: Cell, twin: Twin, call: GridCell['call'], struck: () => boolean): Promise<void> {
    const end = JSON.stringify(twin.end);
    const isLikeTwin = (): boolean => struck() && JSON.stringify(comparable(cell)) === end;
    const differences = (): string => `${differencesOf(comparable(cell), twin.end).join('\n    ')}\n${cell.tell()}`;
    await cell.until('the end that the scenario has without faults', isLikeTwin).catch((error: unknown) => {
      const words = struck() ? `it does not end as it does without faults:\n    ${differences()}` : undefined;
      throw new Error(words ?? `${callText(call)} never came\n${cell.tell()}`, { cause: error });
    });
    await quiet(cell);
    if (!isLikeTwin()) throw new Error(`it does not stay as it is without faults:\n    ${differences()}`);
  }

  #arm(
    { accessKeyId }: Cell,
    { operation, nth }: GridCell['call'],
    kind: Exclude<GridCell['fault'], 'kill'>,
  ): () => boolean {
    const { admin } = this.#world.aws;
    admin.addFault({ operation, nth, kind, accessKeyId });
    return () => admin.faults().some(({ rule, struck }) => rule.accessKeyId === accessKeyId && struck > 0);
  }

  /** The fault has met one call, of that operation, and that one alone; it had its effect, or had none, as the fault says. */
  #missesOf({ accessKeyId }: Cell, { operation }: GridCell['call'], fault: GridCell['fault']): readonly string[] {
    const struck = this.#world.aws.log.read({ accessKeyId }).filter((call) => call.fault !== undefined);
    const effectOf = (had: boolean): string => (had ? 'with its effect' : 'without effect');
    const are = struck.map((call) => [call.operation, call.fault, effectOf(call.actedAt !== undefined)].join(' '));
    const should = [operation, fault, effectOf(fault.endsWith('-after'))].join(' ');
    return are.join() === should ? [] : [`what was struck is not ${should}, but: ${are.join(', ')}`];
  }

  /** Everything goes, and leaves nothing behind. */
  async #remove(cell: Cell): Promise<void> {
    if (cell.object !== undefined) await cell.delete();
    await cell.until('the end of the object', () => cell.object === undefined);
    expect(cell.inAws(), 'left in AWS').to.deep.equal({ profiles: [], roles: [] });
  }

  async #inCell<A>(live: (cell: Cell) => Promise<A>): Promise<A> {
    this.#opened += 1;
    const cell = new Cell(this.#world, this.#opened);
    this.#cells.set(cell.id, cell);
    await cell.open();
    this.#byKey.set(cell.accessKeyId, cell);
    try {
      return await live(cell);
    } finally {
      const { admin } = this.#world.aws;
      for (const { id, rule } of admin.faults()) if (rule.accessKeyId === cell.accessKeyId) admin.removeFault({ id });
      cell.close();
      this.#cells.delete(cell.id);
      this.#byKey.delete(cell.accessKeyId);
    }
  }
}

function killAfter(cell: Cell, call: GridCell['call'], kill: Kill | undefined): () => boolean {
  let wasHeld = false;
  cell.holdAfter(call, async () => {
    wasHeld = (await kill?.hold()) ?? false;
  });
  return () => wasHeld;
}

/** The object is at rest: whatever the manager wanted to do, it has done. */
async function quiet(cell: Cell): Promise<void> {
  for (;;) {
    const before = [cell.calls.length, cell.witness.versions.length].join();
    await delay(QUIET_MS);
    if ([cell.calls.length, cell.witness.versions.length].join() === before) return;
  }
}

const differencesBetween = (what: string, are: readonly number[], should: readonly number[]): readonly string[] =>
  are.join() === should.join() ? [] : [`${what}: ${are.join()} instead of ${should.join()}`];

/** How often each thing was made, whatever its name. */
const timesOf = ({ made }: Cell): readonly number[] => [...made.values()].toSorted((a, b) => a - b);

async function inParallel<A>(items: readonly A[], width: number, work: (item: A) => Promise<void>): Promise<void> {
  const rest = items[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: width }, worker));
}

const chunks = <A>(items: readonly A[], size: number): readonly (readonly A[])[] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, index) => items.slice(index * size, (index + 1) * size));
