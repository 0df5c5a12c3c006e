import type { ApiClient, RawObject } from '../../../test/envtest/clients/api.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { followObjects } from '../follow-objects.ts';
import { describeObjectChanges } from './object-changes.ts';
import type { Printer } from './printer.ts';
import { CommandTimer } from './command-timer.ts';

const KINDS = {
  Cluster: '/apis/cluster.x-k8s.io/v1beta2/clusters',
  AWSManagedControlPlane: '/apis/controlplane.cluster.x-k8s.io/v1beta2/awsmanagedcontrolplanes',
  AWSManagedCluster: '/apis/infrastructure.cluster.x-k8s.io/v1beta2/awsmanagedclusters',
  AWSFargateProfile: '/apis/infrastructure.cluster.x-k8s.io/v1beta2/awsfargateprofiles',
  InstanceGroup: '/apis/instancemgr.keikoproj.io/v1alpha1/instancegroups',
} as const;
export type WatchedKind = keyof typeof KINDS;

/** The widths of the first two columns, which show the seconds and the object, in characters. */
const WIDTHS = [10, 49];

/** The kinds of a Cluster's objects that the teardown demo watches. */
const KINDS_OF_CLUSTER = [
  'Cluster',
  'AWSManagedControlPlane',
  'AWSManagedCluster',
  'AWSFargateProfile',
] as const satisfies readonly WatchedKind[];

/** Prints each change of the watched objects on one line, with the seconds since the last command. */
export class ClusterProgress {
  readonly #api: ApiClient;
  readonly #printer: Printer;
  readonly #kinds: readonly WatchedKind[];
  readonly #since: CommandTimer;
  readonly #objects = new Map<string, RawObject>();

  constructor(api: ApiClient, printer: Printer, kinds: readonly WatchedKind[] = KINDS_OF_CLUSTER) {
    this.#api = api;
    this.#kinds = kinds;
    this.#printer = printer;
    this.#since = new CommandTimer(printer);
  }

  /** Watches the Kubernetes objects and prints their changes until `signal` is aborted. */
  async follow(signal: AbortSignal): Promise<void> {
    await Promise.all(
      this.#kinds.map((kind) =>
        followObjects(this.#api, KINDS[kind], signal, (name, object) => this.#learn(`${kind} ${name}`, object)),
      ),
    );
  }

  /**
   * Runs a command, and restarts the seconds in the output at 0. If objects change while the command runs, the demo
   * prints these changes after the command's own output.
   */
  runCommand(command: () => Promise<void>): Promise<void> {
    return this.#since.runCommand(command);
  }

  print(who: string, words: string): void {
    this.#since.show((seconds) => this.#printer.row([seconds, who, words], WIDTHS, ['dim']));
  }

  /**
   * Waits until `isMet` returns true for the objects of the given kinds. The error after a timeout lists the objects of
   * these kinds that exist at that time.
   */
  async until(
    what: string,
    timeoutMs: number,
    kinds: readonly WatchedKind[],
    isMet: (objects: readonly RawObject[]) => boolean,
  ): Promise<void> {
    const objects = (): readonly RawObject[] =>
      [...this.#objects]
        .filter(([name]) => kinds.some((kind) => name.startsWith(`${kind} `)))
        .map(([, object]) => object);
    const attempt = (): boolean => {
      if (isMet(objects())) return true;
      throw new Error(
        `there are ${
          objects()
            .map(({ kind, metadata }) => `${kind} ${metadata.name}`)
            .join(', ') || 'none'
        }`,
      );
    };
    await eventually(attempt, { what, timeoutMs });
  }

  #learn(name: string, object?: RawObject): void {
    const changes = describeObjectChanges(this.#objects.get(name), object);
    if (object === undefined) this.#objects.delete(name);
    else this.#objects.set(name, object);
    for (const words of changes) this.print(name, words);
  }
}
