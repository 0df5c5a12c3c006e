import type { ApiClient, RawCondition, RawObject } from '../../test/envtest/clients/api.ts';
import { eventually } from '../../test/support/eventually.ts';
import { followObjects } from './follow-objects.ts';
import { findConditionChanges } from './output/condition-changes.ts';

const PATH = '/apis/infrastructure.cluster.x-k8s.io/v1beta2/awsfargateprofiles';

export type ProfileUpdate = { readonly name: string } & (
  { readonly kind: 'changed'; readonly changes: readonly RawCondition[] } | { readonly kind: 'gone' }
);

/** Watches all AWSFargateProfiles and reports changes of their conditions. */
export class ProfileWatcher {
  readonly #api: ApiClient;
  readonly #tell: (progress: ProfileUpdate) => void;
  readonly #objects = new Map<string, RawObject>();

  constructor(api: ApiClient, tell: (progress: ProfileUpdate) => void) {
    this.#api = api;
    this.#tell = tell;
  }

  /** Watches the AWSFargateProfiles until `signal` is aborted. */
  follow(signal: AbortSignal): Promise<void> {
    return followObjects(this.#api, PATH, signal, (name, object) => this.#learn(name, object));
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

  #learn(name: string, object?: RawObject): void {
    const before = this.#objects.get(name);
    if (object === undefined) {
      if (this.#objects.delete(name)) this.#tell({ name, kind: 'gone' });
      return;
    }
    const changes = findConditionChanges(conditionsOf(before), conditionsOf(object));
    this.#objects.set(name, object);
    if (changes.length > 0) this.#tell({ name, kind: 'changed', changes });
  }
}

const conditionsOf = (object: RawObject | undefined): readonly RawCondition[] => object?.status?.conditions ?? [];

const readyOf = (object: RawObject): RawCondition | undefined =>
  conditionsOf(object).find(({ type }) => type === 'Ready');

const isReady = (object: RawObject): boolean => readyOf(object)?.status === 'True';

function describe(object: RawObject): string {
  const ready = readyOf(object);
  const words = ready === undefined ? 'no condition yet' : `${ready.reason ?? ''}: ${ready.message ?? ''}`;
  return `${object.metadata.name} says ${words}`;
}
