import type { ControlPlane } from '../../envtest/control-plane/controlplane.ts';
import type { Exit } from '../../envtest/control-plane/process.ts';
import { eventually } from '../../support/eventually.ts';
import type { ManagerProcessOptions, RunningManager } from './manager.ts';
import { startManager } from './manager.ts';

/** Log messages that show a defect of the manager, e.g. a panic. */
const DEFECTS = ['"Observed a panic"', '"Unhandled error"'];

/**
 * All managers that a test has started. `finish` fails if a manager had a panic, or if a manager exited although the
 * test neither stopped it nor waited for its exit.
 */
export class Managers {
  readonly #controlPlane: ControlPlane;
  readonly #awsUrl: string;
  readonly #started: RunningManager[] = [];
  /** Managers that the test has stopped, or for whose exit the test has waited. */
  readonly #exited = new Set<RunningManager>();

  constructor(controlPlane: ControlPlane, awsUrl: string) {
    this.#controlPlane = controlPlane;
    this.#awsUrl = awsUrl;
  }

  /** The manager that the test has started most recently. */
  get last(): RunningManager {
    const last = this.#started.at(-1);
    if (last === undefined) throw new Error('no manager was started');
    return last;
  }

  async start(options: Partial<ManagerProcessOptions>): Promise<RunningManager> {
    const manager = await startManager(this.#controlPlane, { awsUrl: this.#awsUrl, ...options });
    this.#started.push(manager);
    return manager;
  }

  /** Stops a manager with SIGTERM. Fails if the manager had a panic or does not exit with code 0. */
  async stop(manager: RunningManager): Promise<void> {
    const panics = await manager.metric('controller_runtime_reconcile_panics_total');
    if (panics !== 0) throw new Error(`${manager.name} panicked ${panics} times:\n${manager.log()}`);
    this.#exited.add(manager);
    const { code, signal } = await manager.stop();
    if (code !== 0) throw new Error(`${manager.name} exited with ${code ?? signal}:\n${manager.tail()}`);
  }

  /** Waits until a manager exits on its own, that is, without a signal from the test. */
  async waitForExit(manager: RunningManager): Promise<Exit> {
    const exit = await eventually(() => manager.exit() ?? false, {
      what: `the exit of ${manager.name}`,
      timeoutMs: 30_000,
    });
    this.#exited.add(manager);
    return exit;
  }

  /**
   * Stops all running managers. Fails if a manager exited although the test neither stopped it nor waited for its exit,
   * or if the log of a manager shows a defect.
   */
  async finish(): Promise<void> {
    for (const manager of this.#started.filter((each) => !this.#exited.has(each))) {
      if (manager.exit() === undefined) await this.stop(manager);
      else if (!manager.wasSignaled()) throw new Error(`${manager.name} exited unexpectedly:\n${manager.tail()}`);
    }
    for (const manager of this.#started) {
      const log = manager.log();
      const defect = DEFECTS.map((message) => log.indexOf(message)).find((at) => at >= 0);
      if (defect !== undefined) throw new Error(`${manager.name}: ${log.slice(defect, defect + 2_000)}`);
    }
  }
}
