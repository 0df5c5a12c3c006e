import type { ControlPlane } from '../envtest/controlplane.ts';
import type { Exit } from '../envtest/process.ts';
import { eventually } from '../support/eventually.ts';
import type { ManagerOptions, RunningManager } from './manager.ts';
import { startManager } from './manager.ts';

/** What a manager's log says when it made a mistake, and not the world. */
const MISTAKES = ['"Observed a panic"', '"Nobody handled an error"'];

/** All managers of a world. None may panic, and none may end but those that a test ended, or expects to end. */
export class Managers {
  readonly #controlPlane: ControlPlane;
  readonly #awsUrl: string;
  readonly #started: RunningManager[] = [];
  /** Their end was seen, and was right. */
  readonly #over = new Set<RunningManager>();

  constructor(controlPlane: ControlPlane, awsUrl: string) {
    this.#controlPlane = controlPlane;
    this.#awsUrl = awsUrl;
  }

  /** The one started last. */
  get last(): RunningManager {
    const last = this.#started.at(-1);
    if (last === undefined) throw new Error('no manager was started');
    return last;
  }

  async start(options: Partial<ManagerOptions>): Promise<RunningManager> {
    const manager = await startManager(this.#controlPlane, { awsUrl: this.#awsUrl, ...options });
    this.#started.push(manager);
    return manager;
  }

  /** Ends one as a rollout does, and expects it to end well. */
  async stop(manager: RunningManager): Promise<void> {
    const panics = await manager.metric('controller_runtime_reconcile_panics_total');
    if (panics !== 0) throw new Error(`${manager.name} panicked ${panics} times:\n${manager.log()}`);
    this.#over.add(manager);
    const { code, signal } = await manager.stop();
    if (code !== 0) throw new Error(`${manager.name} ended with ${code ?? signal}:\n${manager.tail()}`);
  }

  /** Waits for the end that a test expects of one that nobody told to end, and gives it. */
  async ended(manager: RunningManager): Promise<Exit> {
    const exit = await eventually(() => manager.exit() ?? false, {
      what: `the end of ${manager.name}`,
      timeoutMs: 30_000,
    });
    this.#over.add(manager);
    return exit;
  }

  /** Ends all that still run, and looks that nothing was wrong with any. */
  async finish(): Promise<void> {
    for (const manager of this.#started.filter((each) => !this.#over.has(each))) {
      if (manager.exit() === undefined) await this.stop(manager);
      else if (!manager.isTold()) throw new Error(`${manager.name} ended by itself:\n${manager.tail()}`);
    }
    for (const manager of this.#started) {
      const log = manager.log();
      const mistake = MISTAKES.map((words) => log.indexOf(words)).find((at) => at >= 0);
      if (mistake !== undefined) throw new Error(`${manager.name}: ${log.slice(mistake, mistake + 2_000)}`);
    }
  }
}
