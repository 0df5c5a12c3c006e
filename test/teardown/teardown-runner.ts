import { setTimeout as delay } from 'node:timers/promises';
import type { Context } from 'mocha';
import type { CallRecord } from '../aws/call-log.ts';
import { MANAGER_ACCOUNT } from '../envtest/control-plane/pool.ts';
import { eventually } from '../support/eventually.ts';
import { runWorkers } from '../support/parallel.ts';
import { type AuditLog, type AuditEvent, createAuditLog } from '../world/cluster-api/audit.ts';
import { startClusterApi } from '../world/cluster-api/cluster-api.ts';
import { type RunningManager, startManager } from '../world/manager/manager.ts';
import { type World, startWorld } from '../world/world.ts';
import { accountOfControlPlane } from './teardown-objects.ts';
import { TeardownSubject } from './subject.ts';
import { RemovalWatch } from './removals.ts';
import { type KillPoint, killPointText } from './kill-points.ts';

/**
 * The durations in the emulated EKS, in milliseconds. `deleteMs` is longer than any test, because the class
 * TeardownSubject finishes the deletions of Fargate profiles itself.
 */
const EKS = { createMs: 50, deleteMs: 3_600_000, clusterDeleteMs: 50 };
/** The manager counts as idle after this time without an AWS call. */
const QUIET_MS = 300;
/** Number of managers that run at the same time, each for another teardown. */
export const WORKERS = 4;

const RECORDED = {
  'infrastructure.cluster.x-k8s.io': ['awsfargateprofiles', 'awsfargateprofiles/status'],
  'controlplane.cluster.x-k8s.io': ['awsmanagedcontrolplanes'],
  'cluster.x-k8s.io': ['clusters'],
};

export interface TeardownOutcome {
  readonly killPoint: KillPoint;
  /** The AWS calls of this teardown that reached AWS, in order. */
  readonly calls: readonly CallRecord[];
  /** The AWS call at which the manager was killed; undefined: the manager was not killed. */
  readonly killedAt?: CallRecord;
  /** The error message of the teardown; undefined: the teardown succeeded. */
  readonly failure?: string;
}

/**
 * Runs teardowns of clusters with four AWSFargateProfiles in one management cluster. Each kill point (the AWS call at
 * which the manager is killed) gets a new Cluster. Several teardowns run in parallel, each in its own namespace with
 * its own manager.
 */
export class TeardownRunner {
  readonly #world: World;
  readonly #audit: AuditLog;
  readonly #removals: RemovalWatch;
  readonly #subjects = new Map<string, TeardownSubject>();

  /**
   * Starts the management cluster. When Cluster API's core manager or kube-controller-manager is missing on the
   * machine, skips the tests with a message.
   */
  static async start(test: Context): Promise<TeardownRunner> {
    const audit = await createAuditLog(RECORDED);
    const world = await startWorld({ config: { eks: EKS }, apiServerArgs: audit.apiServerArgs });
    world.addCleanup(() => audit.close());
    try {
      await startClusterApi(world, test, accountOfControlPlane);
      return new TeardownRunner(world, audit);
    } catch (error) {
      await world.stop();
      throw error;
    }
  }

  private constructor(world: World, audit: AuditLog) {
    this.#world = world;
    this.#audit = audit;
    this.#removals = new RemovalWatch(world);
    world.addCleanup(() => this.#removals.stop());
    world.aws.onCall((call, phase) => this.#subjects.get(call.account ?? '')?.onCall(call, phase));
  }

  async finish(): Promise<void> {
    await this.#world.finish();
  }

  /** Runs one teardown for each kill point (the AWS call at which the manager is killed), and returns the outcomes. */
  async run(killPoints: readonly KillPoint[]): Promise<readonly TeardownOutcome[]> {
    const width = Math.min(WORKERS, killPoints.length);
    const first = this.#subjects.size;
    const outcomes = await runWorkers(killPoints, width, async (rest, index) => {
      const worker = await this.#startWorker(`lane-${first}-${index}`);
      const ofWorker: TeardownOutcome[] = [];
      for (const killPoint of rest) ofWorker.push(await this.#runTeardown(killPoint, worker));
      await worker.end();
      return ofWorker;
    });
    return outcomes.flat();
  }

  async #runTeardown(killPoint: KillPoint, worker: Worker): Promise<TeardownOutcome> {
    const number = this.#subjects.size + 1;
    const subject = new TeardownSubject(this.#world, number, worker.namespace);
    this.#subjects.set(subject.account, subject);
    try {
      await subject.setUp();
      await untilIdle(subject);
      await subject.deleteCluster(killPoint, () => worker.kill());
      await subject.untilKilledOrGone();
      const { killedAt } = subject;
      if (killedAt !== undefined) await worker.start();
      await subject.untilGone();
      const wrong = subject.findViolations(
        await this.#auditOf(subject),
        await this.#removals.untilComplete(subject.cluster, subject.size),
      );
      const failure = [killPointText(killPoint), ...wrong, await subject.describe()].join('\n    ');
      return { killPoint, calls: subject.calls, ...(killedAt && { killedAt }), ...(wrong.length > 0 && { failure }) };
    } catch (error) {
      const failure = error instanceof Error ? error.message : String(error);
      return { killPoint, calls: subject.calls, failure: `${killPointText(killPoint)}: ${failure}` };
    } finally {
      subject.tearDown();
      await worker.ensureManager();
    }
  }

  /**
   * Waits until the audit log contains the deletion of the Cluster, and returns the audit log. The API server writes an
   * audit entry only after it has answered the request, so the last entry may come late.
   */
  async #auditOf({ cluster }: TeardownSubject): Promise<readonly AuditEvent[]> {
    return eventually(
      async () => {
        const events = await this.#audit.read();
        const ofCluster = events.filter(
          ({ objectRef }) => objectRef.resource === 'clusters' && objectRef.name === cluster.name,
        );
        const last = ofCluster.at(-1)?.object;
        return (last === undefined || (last.metadata.finalizers ?? []).length === 0) && events;
      },
      { what: `the audit entry for the deletion of Cluster ${cluster.name}` },
    );
  }

  async #startWorker(namespace: string): Promise<Worker> {
    await this.#world.createNamespace(namespace);
    const worker = new Worker(this.#world, namespace);
    await worker.start();
    return worker;
  }
}

/** A namespace in which at most one manager runs at a time. */
class Worker {
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
      kubeconfigPath: controlPlane.user(MANAGER_ACCOUNT).kubeconfigPath,
      name: `manager-${this.namespace}`,
      flags,
      verbosity: 0,
    });
    this.#isKilled = false;
  }

  /** Starts a new manager if the previous teardown has killed its manager and has then failed. */
  async ensureManager(): Promise<void> {
    if (this.#isKilled) await this.start();
  }

  async kill(): Promise<void> {
    this.#isKilled = true;
    this.#manager?.kill('SIGKILL');
    await this.#manager?.exited;
  }

  /** Stops the manager with SIGTERM. Throws if the manager does not exit with code 0, or has logged a panic. */
  async end(): Promise<void> {
    const manager = this.#manager;
    if (manager === undefined) return;
    const { code, signal } = await manager.stop();
    if (code !== 0) throw new Error(`the manager ended with ${code ?? signal}:\n${manager.tail()}`);
    if (manager.log().includes('Observed a panic')) throw new Error(`a manager panicked:\n${manager.log()}`);
  }
}

async function untilIdle(subject: TeardownSubject): Promise<void> {
  for (;;) {
    const before = subject.callCount;
    await delay(QUIET_MS);
    if (subject.callCount === before) return;
  }
}
