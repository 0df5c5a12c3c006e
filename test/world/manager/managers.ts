import type { ControlPlane } from '../../envtest/control-plane/controlplane.ts';
import { MANAGER_ACCOUNT } from '../../envtest/control-plane/pool.ts';
import type { Exit } from '../../envtest/control-plane/process.ts';
import { eventually } from '../../support/eventually.ts';
import { type ManagerProcessOptions, type RunningManager, startManager } from './manager.ts';

/** Texts in the manager's log that show a defect, e.g. a panic. */
const DEFECTS = ['"Observed a panic"', '"Unhandled error"'];
/**
 * A part of the error with which the API server refuses a request of the manager, because config/rbac lacks the
 * permission.
 */
const FORBIDDEN = `is forbidden: User \\"${MANAGER_ACCOUNT}\\"`;

export interface ManagerOptions extends ManagerProcessOptions {
  /**
   * Whether the API server may forbid requests of the manager, because the test takes permissions away from it;
   * default: false. If false, a forbidden request fails the test.
   */
  readonly mayBeForbidden?: boolean;
}

/**
 * All managers that a test has started. At the end of the test, `finish` fails if a manager had a panic, or if a
 * manager exited unexpectedly.
 */
export class Managers {
  readonly #controlPlane: ControlPlane;
  readonly #awsUrl: string;
  readonly #started: RunningManager[] = [];
  readonly #mayBeForbidden = new Set<RunningManager>();
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

  async start({ mayBeForbidden = false, ...options }: Partial<ManagerOptions>): Promise<RunningManager> {
    const { kubeconfigPath } = this.#controlPlane.user(MANAGER_ACCOUNT);
    const manager = await startManager(this.#controlPlane, { awsUrl: this.#awsUrl, kubeconfigPath, ...options });
    this.#started.push(manager);
    if (mayBeForbidden) this.#mayBeForbidden.add(manager);
    return manager;
  }

  async stop(manager: RunningManager): Promise<void> {
    const panics = await manager.metric('controller_runtime_reconcile_panics_total');
    if (panics !== 0) throw new Error(`${manager.name} panicked ${panics} times:\n${manager.log()}`);
    this.#exited.add(manager);
    const { code, signal } = await manager.stop();
    if (code !== 0) throw new Error(`${manager.name} exited with ${code ?? signal}:\n${manager.tail()}`);
  }

  async waitForExit(manager: RunningManager): Promise<Exit> {
    const exit = await eventually(() => manager.exit() ?? false, {
      what: `the exit of ${manager.name}`,
    });
    this.#exited.add(manager);
    return exit;
  }

  /**
   * Stops all running managers. Fails if a manager exited unexpectedly, if the log of a manager shows a defect, or if
   * the API server has forbidden a request of a manager without the option `mayBeForbidden`.
   */
  async finish(): Promise<void> {
    for (const manager of this.#started.filter((each) => !this.#exited.has(each))) {
      if (manager.exit() === undefined) await this.stop(manager);
      else if (!manager.wasSignaled()) throw new Error(`${manager.name} exited unexpectedly:\n${manager.tail()}`);
    }
    for (const manager of this.#started) {
      const log = manager.log();
      const defects = this.#mayBeForbidden.has(manager) ? DEFECTS : [...DEFECTS, FORBIDDEN];
      const defect = defects.map((text) => log.indexOf(text)).find((at) => at >= 0);
      if (defect !== undefined) throw new Error(`${manager.name}: ${log.slice(defect, defect + 2_000)}`);
    }
  }
}
