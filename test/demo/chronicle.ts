import type { Api, KubeObject } from '../envtest/api.ts';
import { eventually } from '../support/eventually.ts';
import { happeningsOf } from './happenings.ts';
import type { Page } from './page.ts';
import { SinceCommand } from './since-command.ts';

const KINDS = {
  Cluster: '/apis/cluster.x-k8s.io/v1beta2/clusters',
  AWSManagedControlPlane: '/apis/controlplane.cluster.x-k8s.io/v1beta2/awsmanagedcontrolplanes',
  AWSManagedCluster: '/apis/infrastructure.cluster.x-k8s.io/v1beta2/awsmanagedclusters',
  AWSFargateProfile: '/apis/infrastructure.cluster.x-k8s.io/v1beta2/awsfargateprofiles',
} as const;
export type Kind = keyof typeof KINDS;

/** Widths of the columns: seconds, who. */
const WIDTHS = [10, 49];

/** Shows what becomes of a cluster's objects, in plain words, a line each, with the seconds since the last command. */
export class Chronicle {
  readonly #api: Api;
  readonly #page: Page;
  readonly #since: SinceCommand;
  readonly #known = new Map<string, KubeObject>();

  constructor(api: Api, page: Page) {
    this.#api = api;
    this.#page = page;
    this.#since = new SinceCommand(page);
  }

  /** Until the signal is aborted. */
  async follow(signal: AbortSignal): Promise<void> {
    await Promise.all((Object.keys(KINDS) as Kind[]).map((kind) => this.#follow(kind, signal)));
  }

  /** Runs a command, from whose start seconds are counted. What it sets off is shown after what it prints. */
  during(command: () => Promise<void>): Promise<void> {
    return this.#since.during(command);
  }

  tell(who: string, words: string): void {
    this.#since.show((seconds) => this.#page.row([seconds, who, words], WIDTHS, ['dim']));
  }

  /** Waits until it is so of the objects of these kinds; who is waited for is in the error when it takes too long. */
  async until(
    what: string,
    timeoutMs: number,
    kinds: readonly Kind[],
    isSo: (objects: readonly KubeObject[]) => boolean,
  ): Promise<void> {
    const objects = (): readonly KubeObject[] =>
      [...this.#known]
        .filter(([name]) => kinds.some((kind) => name.startsWith(`${kind} `)))
        .map(([, object]) => object);
    const attempt = (): boolean => {
      if (isSo(objects())) return true;
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

  async #follow(kind: Kind, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const { items, metadata } = await this.#api.list(KINDS[kind]);
      const names = items.map((item) => `${kind} ${item.metadata.name}`);
      for (const name of this.#known.keys())
        if (name.startsWith(`${kind} `) && !names.includes(name)) this.#learn(name);
      for (const [index, item] of items.entries()) this.#learn(names[index] ?? '', item);
      const query = { resourceVersion: metadata.resourceVersion };
      for await (const { type, object } of this.#api.watch(KINDS[kind], query, signal)) {
        if (type === 'ERROR') break;
        this.#learn(`${kind} ${object.metadata.name}`, type === 'DELETED' ? undefined : object);
      }
    }
  }

  #learn(name: string, object?: KubeObject): void {
    const happenings = happeningsOf(this.#known.get(name), object);
    if (object === undefined) this.#known.delete(name);
    else this.#known.set(name, object);
    for (const words of happenings) this.tell(name, words);
  }
}
