import type { Api, Condition, KubeObject } from '../envtest/api.ts';
import { eventually } from '../support/eventually.ts';
import { changesOf } from './changes.ts';

const PATH = '/apis/infrastructure.cluster.x-k8s.io/v1beta2/awsfargateprofiles';

/** What is needed of the API server. */
export type Source = Pick<Api, 'list' | 'watch'>;

export type News = { readonly name: string } & (
  { readonly kind: 'changed'; readonly changes: readonly Condition[] } | { readonly kind: 'gone' }
);

/** Follows all AWSFargateProfiles and tells what changes in their conditions. */
export class Profiles {
  readonly #api: Source;
  readonly #tell: (news: News) => void;
  #known: ReadonlyMap<string, KubeObject> = new Map();

  constructor(api: Source, tell: (news: News) => void) {
    this.#api = api;
    this.#tell = tell;
  }

  /** Until the signal is aborted. */
  async follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const { items, metadata } = await this.#api.list(PATH);
      for (const name of this.#known.keys()) if (!items.some((item) => nameOf(item) === name)) this.#forget(name);
      for (const item of items) this.#learn(item);
      for await (const { type, object } of this.#api.watch(
        PATH,
        { resourceVersion: metadata.resourceVersion },
        signal,
      )) {
        if (type === 'ERROR') break;
        if (type === 'DELETED') this.#forget(nameOf(object));
        else this.#learn(object);
      }
    }
  }

  names(): readonly string[] {
    return [...this.#known.keys()];
  }

  /** Waits until there are profiles and all are Ready. */
  async untilReady(timeoutMs: number): Promise<void> {
    await this.#until('every AWSFargateProfile being Ready', timeoutMs, (objects) => {
      if (objects.length === 0) throw new Error('there is none');
      return objects.filter((object) => !isReady(object));
    });
  }

  /** Waits until there is none. */
  async untilGone(timeoutMs: number): Promise<void> {
    await this.#until('the end of every AWSFargateProfile', timeoutMs, (objects) => objects);
  }

  /** `late` gives those that are waited for. */
  async #until(
    what: string,
    timeoutMs: number,
    late: (objects: readonly KubeObject[]) => readonly KubeObject[],
  ): Promise<void> {
    const attempt = (): boolean => {
      const waitedFor = late([...this.#known.values()]);
      if (waitedFor.length === 0) return true;
      throw new Error(waitedFor.map(describe).join('; '));
    };
    await eventually(attempt, { what, timeoutMs });
  }

  #learn(object: KubeObject): void {
    const name = nameOf(object);
    const changes = changesOf(conditionsOf(this.#known.get(name)), conditionsOf(object));
    this.#known = new Map([...this.#known, [name, object]]);
    if (changes.length > 0) this.#tell({ name, kind: 'changed', changes });
  }

  #forget(name: string): void {
    this.#known = new Map([...this.#known].filter(([other]) => other !== name));
    this.#tell({ name, kind: 'gone' });
  }
}

const conditionsOf = (object: KubeObject | undefined): readonly Condition[] => object?.status?.conditions ?? [];

const readyOf = (object: KubeObject): Condition | undefined =>
  conditionsOf(object).find(({ type }) => type === 'Ready');

const isReady = (object: KubeObject): boolean => readyOf(object)?.status === 'True';

function describe(object: KubeObject): string {
  const ready = readyOf(object);
  const words = ready === undefined ? 'no condition yet' : `${ready.reason ?? ''}: ${ready.message ?? ''}`;
  return `${nameOf(object)} says ${words}`;
}

/** As kubectl shows it: the namespace where it is not the default one. */
function nameOf({ metadata: { name, namespace = 'default' } }: KubeObject): string {
  return namespace === 'default' ? name : `${namespace}/${name}`;
}
