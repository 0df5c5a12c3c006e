import type { ApiClient, RawCondition, RawObject } from '../envtest/clients/api.ts';
import { eventually } from '../support/eventually.ts';
import { findConditionChanges } from './output/condition-changes.ts';

const PATH = '/apis/infrastructure.cluster.x-k8s.io/v1beta2/awsfargateprofiles';

/** The methods of the API client that `ProfileWatcher` uses. */
export type ProfileSource = Pick<ApiClient, 'list' | 'watch'>;

export type ProfileUpdate = { readonly name: string } & (
  { readonly kind: 'changed'; readonly changes: readonly RawCondition[] } | { readonly kind: 'gone' }
);

/** Watches all AWSFargateProfiles and reports changes of their conditions. */
export class ProfileWatcher {
  readonly #api: ProfileSource;
  readonly #tell: (progress: ProfileUpdate) => void;
  #objects: ReadonlyMap<string, RawObject> = new Map();

  constructor(api: ProfileSource, tell: (progress: ProfileUpdate) => void) {
    this.#api = api;
    this.#tell = tell;
  }

  /** Watches the AWSFargateProfiles until `signal` is aborted. */
  async follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const { items, metadata } = await this.#api.list(PATH);
      for (const name of this.#objects.keys()) if (!items.some((item) => nameOf(item) === name)) this.#forget(name);
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
    return [...this.#objects.keys()];
  }

  /** Waits until at least one AWSFargateProfile exists and all AWSFargateProfiles are Ready. */
  async untilReady(timeoutMs: number): Promise<void> {
    await this.#until('every AWSFargateProfile being Ready', timeoutMs, (objects) => {
      if (objects.length === 0) throw new Error('there is none');
      return objects.filter((object) => !isReady(object));
    });
  }

  /** Waits until `isDone` returns true for every AWSFargateProfile. */
  async until(what: string, timeoutMs: number, isDone: (object: RawObject) => boolean): Promise<void> {
    await this.#until(what, timeoutMs, (objects) => objects.filter((object) => !isDone(object)));
  }

  /** Waits until no AWSFargateProfile exists. */
  async untilGone(timeoutMs: number): Promise<void> {
    await this.#until('the end of every AWSFargateProfile', timeoutMs, (objects) => objects);
  }

  /**
   * Waits until the callback `late` returns an empty list. The callback gets all AWSFargateProfiles, and returns those
   * that are not yet in the expected state.
   */
  async #until(
    what: string,
    timeoutMs: number,
    late: (objects: readonly RawObject[]) => readonly RawObject[],
  ): Promise<void> {
    const attempt = (): boolean => {
      const waitedFor = late([...this.#objects.values()]);
      if (waitedFor.length === 0) return true;
      throw new Error(waitedFor.map(describe).join('; '));
    };
    await eventually(attempt, { what, timeoutMs });
  }

  #learn(object: RawObject): void {
    const name = nameOf(object);
    const changes = findConditionChanges(conditionsOf(this.#objects.get(name)), conditionsOf(object));
    this.#objects = new Map([...this.#objects, [name, object]]);
    if (changes.length > 0) this.#tell({ name, kind: 'changed', changes });
  }

  #forget(name: string): void {
    this.#objects = new Map([...this.#objects].filter(([other]) => other !== name));
    this.#tell({ name, kind: 'gone' });
  }
}

const conditionsOf = (object: RawObject | undefined): readonly RawCondition[] => object?.status?.conditions ?? [];

const readyOf = (object: RawObject): RawCondition | undefined =>
  conditionsOf(object).find(({ type }) => type === 'Ready');

const isReady = (object: RawObject): boolean => readyOf(object)?.status === 'True';

function describe(object: RawObject): string {
  const ready = readyOf(object);
  const words = ready === undefined ? 'no condition yet' : `${ready.reason ?? ''}: ${ready.message ?? ''}`;
  return `${nameOf(object)} says ${words}`;
}

/** Returns the name of a Kubernetes object, with its namespace as a prefix unless the namespace is `default`. */
function nameOf({ metadata: { name, namespace = 'default' } }: RawObject): string {
  return namespace === 'default' ? name : `${namespace}/${name}`;
}
