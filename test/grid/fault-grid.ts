import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { type World, startWorld } from '../world/world.ts';
import { GridSubject, allowedEksClusters, nthCallText } from './subject.ts';
import { type FaultCase, faultCaseText } from './fault-cases.ts';
import { chunks, inParallel } from '../support/parallel.ts';
import { HANG_LIMIT_MS } from '../support/hang-limit.ts';
import { SharedKill } from './shared-kill.ts';
import { type GridScenario, SCENARIOS } from './scenarios.ts';
import { type NormalizedState, normalize, diffStates } from './normalized-state.ts';

const PROFILES = '/apis/infrastructure.cluster.x-k8s.io/v1beta2/awsfargateprofiles';
/**
 * The duration of creations and deletions in the emulated EKS, in milliseconds. The duration is longer than any test,
 * because the test itself completes creations and deletions (see {@link GridSubject}).
 */
const HELD_MS = 3_600_000;
/**
 * How many fault cases run at the same time. A fault case is one AWS call of a scenario together with the fault that
 * hits the call. The number is high, because a fault case spends most of its time waiting.
 */
const PARALLEL = 48;
/**
 * How many fault cases share one `kill -9` of the manager. The number is small, so that the manager makes the AWS calls
 * of all these fault cases within seconds.
 */
const PER_KILL = 24;
/**
 * How often a fault case with a kill runs at most. If the manager is killed before it makes the AWS call of the fault
 * case, the fault case runs again and shares the kill with half as many fault cases.
 */
const MOST_KILLS = 4;
const FLAGS = ['--awsfargateprofile-concurrency', '100', '--sync-period', '1h'];
/**
 * The manager counts as idle after this time without an AWS call and without a new version of the AWSFargateProfile.
 */
const QUIET_MS = 1_500;

/** The result of a test scenario without faults. Each fault case of the scenario must end in the same state. */
export interface Baseline {
  /**
   * The AWS operations that the manager called, in the order of the calls, from the call of the scenario's `trigger` to
   * the end of the scenario.
   */
  readonly operations: readonly string[];
  readonly end: NormalizedState;
  /** How often each Fargate profile and each IAM role was created, without their names, in ascending order. */
  readonly createCounts: readonly number[];
  /** The reasons that the Stalled condition had while it was True. */
  readonly stalledReasons: readonly string[];
}

export interface FaultCaseFailure {
  readonly faultCase: FaultCase;
  readonly message: string;
}

/** `killedTooEarly`: the manager was killed before it made the AWS call into which the test injects the fault. */
type Outcome = { readonly kind: 'passed' | 'killedTooEarly' } | { readonly kind: 'failed'; readonly message: string };

/** Runs all fault cases with one API server, one AWS emulator, and one manager at a time. */
export class FaultGrid {
  readonly #world: World;
  #opened = 0;
  /**
   * The test subject (an AWSFargateProfile with its own AWS account) of each running fault case, by the name of its
   * namespace.
   */
  readonly #subjects = new Map<string, GridSubject>();
  readonly #byAccessKey = new Map<string, GridSubject>();
  readonly #watching: AbortController;
  readonly #watched: Promise<void>;
  #baselines: ReadonlyMap<string, Baseline> = new Map();

  static async start(): Promise<FaultGrid> {
    const world = await startWorld({ config: { eks: { createMs: HELD_MS, deleteMs: HELD_MS } } });
    try {
      const grid = new FaultGrid(world);
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
    world.aws.onCall((call, phase) => this.#byAccessKey.get(call.accessKeyId ?? '')?.onCall(call, phase));
  }

  /**
   * Watches the AWSFargateProfiles in the API server. The promise rejects when the watch may have missed a version of
   * an object, and resolves when the method `finish` has stopped the watch.
   */
  async #watch(): Promise<void> {
    const { signal } = this.#watching;
    const { api } = this.#world.controlPlane;
    let { resourceVersion } = (await api.list(PROFILES)).metadata;
    // The API server closes the watch of a client that reads too slowly, which happens on a busy machine. The loop then
    // opens a new watch.
    while (!signal.aborted) {
      for await (const event of api.watch(PROFILES, { resourceVersion }, signal)) {
        if (event.type === 'ERROR') throw new Error(`watching the profiles: ${JSON.stringify(event.object)}`);
        this.#subjects.get(event.object.metadata.namespace ?? '')?.onWatchEvent(event);
        ({ resourceVersion } = event.object.metadata);
      }
    }
  }

  async #startManager(): Promise<void> {
    await this.#world.startManager({ flags: [...FLAGS, ...allowedEksClusters()] });
  }

  async finish(): Promise<void> {
    this.#watching.abort();
    try {
      await this.#watched;
    } finally {
      await this.#world.finish();
    }
  }

  /** Runs each scenario once without faults. Returns the AWS operations of each scenario in the order of the calls. */
  async runBaselines(): Promise<ReadonlyMap<string, readonly string[]>> {
    const baselines = await Promise.all(
      SCENARIOS.map((scenario) =>
        this.#withSubject(
          scenario,
          async (subject) => [scenario.name, await this.#runBaseline(scenario, subject)] as const,
        ),
      ),
    );
    this.#baselines = new Map(baselines);
    return new Map(baselines.map(([name, { operations }]) => [name, operations]));
  }

  async #runBaseline(scenario: GridScenario, subject: GridSubject): Promise<Baseline> {
    await scenario.prepare(subject);
    await untilIdle(subject);
    const before = subject.calls.length;
    subject.mustServe = scenario.isWithoutGap === true;
    await scenario.trigger(subject);
    await subject.until('the end of the scenario', () => scenario.hasEnded(subject));
    await untilIdle(subject);
    const operations = subject.calls.slice(before).map(({ operation }) => operation);
    const end = normalize(subject);
    await this.#remove(subject);
    expect(subject.violations, `${scenario.name} without faults`).to.deep.equal([]);
    return {
      operations,
      end,
      createCounts: sortedCreateCounts(subject),
      stalledReasons: subject.checker.reasonsWhileTrue('Stalled'),
    };
  }

  /** Runs the fault cases and returns those that failed, with their error messages. */
  async run(faultCases: readonly FaultCase[]): Promise<readonly FaultCaseFailure[]> {
    const failures: FaultCaseFailure[] = [];
    const attempt = async (faultCase: FaultCase, kill?: SharedKill): Promise<Outcome> => {
      const outcome = await this.#attempt(faultCase, kill);
      if (outcome.kind === 'failed') failures.push({ faultCase, message: outcome.message });
      return outcome;
    };
    const watchFailed = this.#watched.then(() => Promise.reject(new Error('the watch has ended')));
    const isKill = ({ fault }: FaultCase): boolean => fault === 'kill';
    const others = faultCases.filter((each) => !isKill(each));
    await Promise.race([watchFailed, inParallel(others, PARALLEL, async (each) => void (await attempt(each)))]);
    let left = faultCases.filter(isKill);
    for (let kills = 0; left.length > 0 && kills < MOST_KILLS; kills++) {
      const tooEarly: FaultCase[] = [];
      for (const group of chunks(left, Math.ceil(PER_KILL / 2 ** kills))) {
        const inGroup = async (kill: SharedKill): Promise<void> => {
          const outcomes = await Promise.all(group.map((each) => attempt(each, kill)));
          tooEarly.push(...group.filter((_, index) => outcomes[index]?.kind === 'killedTooEarly'));
        };
        await Promise.race([watchFailed, this.#withKill(group, inGroup)]);
      }
      left = tooEarly;
    }
    const reason = `the manager was killed before this call, ${MOST_KILLS} times`;
    return [
      ...failures,
      ...left.map((faultCase) => ({ faultCase, message: `${faultCaseText(faultCase)}: ${reason}` })),
    ];
  }

  /** Runs the given task. While the task runs, kills the manager once and then starts a new manager. */
  async #withKill(group: readonly FaultCase[], task: (kill: SharedKill) => Promise<void>): Promise<void> {
    const kill = new SharedKill(group.map(faultCaseText));
    const carriedOut = kill.carryOut(
      async () => {
        const { manager } = this.#world;
        manager.kill('SIGKILL');
        await manager.exited;
      },
      () => this.#startManager(),
    );
    await Promise.all([carriedOut, task(kill)]);
  }

  async #attempt(plan: FaultCase, kill: SharedKill | undefined): Promise<Outcome> {
    try {
      const scenario = SCENARIOS.find(({ name }) => name === plan.scenario);
      if (scenario === undefined) throw new Error('there is no such scenario');
      return await this.#withSubject(scenario, (subject) => this.#runCase(plan, scenario, subject, kill));
    } catch (error) {
      kill?.giveUp(faultCaseText(plan));
      const message = error instanceof Error ? error.message : String(error);
      return { kind: 'failed', message: `${faultCaseText(plan)}: ${message}` };
    }
  }

  async #runCase(
    plan: FaultCase,
    scenario: GridScenario,
    subject: GridSubject,
    kill: SharedKill | undefined,
  ): Promise<Outcome> {
    const { call, fault } = plan;
    const baseline = this.#baselines.get(scenario.name);
    if (baseline === undefined) throw new Error('the baseline is missing');
    await scenario.prepare(subject);
    await untilIdle(subject);
    const struck = fault === 'kill' ? killAfter(subject, plan, kill) : this.#addFault(subject, call, fault);
    await kill?.ready(faultCaseText(plan));
    subject.mustServe = scenario.isWithoutGap === true;
    await scenario.trigger(subject);
    await kill?.restarted();
    if (kill !== undefined && !struck()) {
      await this.#remove(subject);
      return { kind: 'killedTooEarly' };
    }
    if (kill !== undefined && scenario.needsResync === true) await subject.triggerResync();

    await this.#expectBaselineEnd(subject, baseline, call, struck);
    await this.#remove(subject);
    const wrong = [
      ...(fault === 'kill' ? [] : this.#checkFault(subject, call, fault)),
      ...subject.violations,
      ...differencesBetween('create counts', sortedCreateCounts(subject), baseline.createCounts),
      // The injected faults are temporary and need no user action, so they must not make the Stalled condition True.
      ...subject.checker
        .reasonsWhileTrue('Stalled')
        .flatMap((reason) =>
          baseline.stalledReasons.includes(reason)
            ? []
            : [`Stalled became True, which needs no user action here: ${reason}`],
        ),
    ];
    if (wrong.length > 0) throw new Error(`${wrong.join('\n    ')}\n${subject.describe()}`);
    return { kind: 'passed' };
  }

  /**
   * Expects that the AWSFargateProfile and its AWS resources reach the state in which the scenario ends when it runs
   * without faults, and stay in this state.
   */
  async #expectBaselineEnd(
    subject: GridSubject,
    baseline: Baseline,
    call: FaultCase['call'],
    struck: () => boolean,
  ): Promise<void> {
    const end = JSON.stringify(baseline.end);
    const isLikeBaseline = (): boolean => struck() && JSON.stringify(normalize(subject)) === end;
    const differences = (): string =>
      `${diffStates(normalize(subject), baseline.end).join('\n    ')}\n${subject.describe()}`;
    await subject.until('the end that the scenario has without faults', isLikeBaseline).catch((error: unknown) => {
      const message = struck() ? `it does not end as it does without faults:\n    ${differences()}` : undefined;
      throw new Error(message ?? `${nthCallText(call)} never came\n${subject.describe()}`, { cause: error });
    });
    await untilIdle(subject);
    if (!isLikeBaseline()) throw new Error(`it does not stay as it is without faults:\n    ${differences()}`);
  }

  #addFault(
    { accessKeyId }: GridSubject,
    { operation, nth }: FaultCase['call'],
    kind: Exclude<FaultCase['fault'], 'kill'>,
  ): () => boolean {
    const { admin } = this.#world.aws;
    admin.addFault({ operation, nth, kind, accessKeyId });
    return () => admin.faults().some(({ rule, struck }) => rule.accessKeyId === accessKeyId && struck > 0);
  }

  /**
   * Returns an error if the fault hit no AWS call, several AWS calls, or a call of another AWS operation. With a fault
   * whose name ends with `-after`, the call must have taken effect in AWS; with any other fault, it must not.
   */
  #checkFault(
    { accessKeyId }: GridSubject,
    { operation }: FaultCase['call'],
    fault: FaultCase['fault'],
  ): readonly string[] {
    const struck = this.#world.aws.log.read({ accessKeyId }).filter((call) => call.fault !== undefined);
    const effectOf = (had: boolean): string => (had ? 'with its effect' : 'without effect');
    const are = struck.map((call) => [call.operation, call.fault, effectOf(call.actedAt !== undefined)].join(' '));
    const should = [operation, fault, effectOf(fault.endsWith('-after'))].join(' ');
    return are.join() === should ? [] : [`what was struck is not ${should}, but: ${are.join(', ')}`];
  }

  /**
   * Deletes the AWSFargateProfile, and expects that the manager leaves no AWS resources of the AWSFargateProfile
   * behind.
   */
  async #remove(subject: GridSubject): Promise<void> {
    subject.mustServe = false;
    if (subject.object !== undefined) await subject.delete();
    await subject.until('the end of the object', () => subject.object === undefined);
    expect(subject.ownResources(), 'left in AWS').to.deep.equal({
      profiles: [],
      roles: [],
      accessEntries: [],
    });
  }

  async #withSubject<A>({ kind }: GridScenario, live: (subject: GridSubject) => Promise<A>): Promise<A> {
    this.#opened += 1;
    const subject = new GridSubject(this.#world, this.#opened, kind);
    this.#subjects.set(subject.id, subject);
    await subject.setUp();
    this.#byAccessKey.set(subject.accessKeyId, subject);
    try {
      return await live(subject);
    } finally {
      const { admin } = this.#world.aws;
      for (const { id, rule } of admin.faults())
        if (rule.accessKeyId === subject.accessKeyId) admin.removeFault({ id });
      subject.tearDown();
      this.#subjects.delete(subject.id);
      this.#byAccessKey.delete(subject.accessKeyId);
    }
  }
}

function killAfter(subject: GridSubject, plan: FaultCase, kill: SharedKill | undefined): () => boolean {
  let wasHeld = false;
  subject.holdAfter(plan.call, async () => {
    wasHeld = (await kill?.hold(faultCaseText(plan))) ?? false;
  });
  return () => wasHeld;
}

/** Waits until the manager has made no AWS calls for an AWSFargateProfile, and no changes of it, for `QUIET_MS`. */
async function untilIdle(subject: GridSubject): Promise<void> {
  const deadline = performance.now() + HANG_LIMIT_MS;
  while (performance.now() < deadline) {
    const before = [subject.calls.length, subject.checker.versions.length].join();
    await delay(QUIET_MS);
    if ([subject.calls.length, subject.checker.versions.length].join() === before) return;
  }
  throw new Error(`the manager is not idle after ${HANG_LIMIT_MS / 1_000} s\n${subject.describe()}`);
}

const differencesBetween = (what: string, are: readonly number[], should: readonly number[]): readonly string[] =>
  are.join() === should.join() ? [] : [`${what}: ${are.join()} instead of ${should.join()}`];

/**
 * Returns how often each AWS resource was created. The names are left out, because they differ from one test case to
 * another.
 */
const sortedCreateCounts = ({ createCounts }: GridSubject): readonly number[] =>
  [...createCounts.values()].toSorted((a, b) => a - b);
