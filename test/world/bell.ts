import { EventEmitter } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Api, KubeObject } from '../envtest/api.ts';
import type { Ear } from '../support/eventually.ts';

/** After so long it is looked all the same: a watch misses nothing, but its server may be on its way out. */
const LISTENED_MS = 1_000;
/** The same while there is no watch: the server is away, or does not serve the kind. */
const DEAF_MS = 100;

/**
 * Rings when an object of one kind has changed, so that whoever waits for it asks the API server then, and not all the
 * time; and keeps what it was like, so that a state that has passed by the time it is asked for was seen all the same.
 */
export class Bell {
  readonly #api: Api;
  readonly #path: string;
  readonly #stopping = new AbortController();
  readonly #emitter = new EventEmitter().setMaxListeners(0);
  readonly #rings = new Map<string, number>();
  readonly #versions = new Map<string, KubeObject[]>();
  readonly #watching: Promise<void>;
  #isDeaf = true;

  /** @param path of the kind, in all namespaces */
  constructor(api: Api, path: string) {
    this.#api = api;
    this.#path = path;
    this.#watching = this.#watch();
  }

  listen(namespace: string, name: string): Ear {
    const key = `${namespace}/${name}`;
    const before = this.#rings.get(key);
    return {
      heard: () =>
        new Promise((resolve) => {
          if (this.#rings.get(key) !== before) return resolve();
          const end = (): void => {
            clearTimeout(timer);
            this.#emitter.off(key, end);
            resolve();
          };
          const timer = setTimeout(end, this.#isDeaf ? DEAF_MS : LISTENED_MS);
          this.#emitter.on(key, end);
        }),
    };
  }

  /** Those of its versions that came after a resourceVersion of the kind and were heard of so far, oldest first. */
  versionsAfter(resourceVersion: string, namespace: string, name: string): readonly KubeObject[] {
    const versions = this.#versions.get(`${namespace}/${name}`) ?? [];
    return versions.filter(({ metadata }) => Number(metadata.resourceVersion) > Number(resourceVersion));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#watching;
  }

  /** Until it is stopped, whatever comes: API servers are killed here, and kinds come and go. */
  async #watch(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        // It begins with all that is there: what changed before it is heard too.
        for await (const { type, object } of this.#api.watch(this.#path, {}, signal)) {
          this.#isDeaf = false;
          this.#hear(type, object);
        }
      } catch {
        // Whoever waits looks often meanwhile, and says what is wrong with the server.
      }
      this.#isDeaf = true;
      await delay(DEAF_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  #hear(type: string, object: KubeObject): void {
    const key = `${object.metadata.namespace}/${object.metadata.name}`;
    if (type === 'ADDED' || type === 'MODIFIED') this.#versions.set(key, [...(this.#versions.get(key) ?? []), object]);
    this.#rings.set(key, (this.#rings.get(key) ?? 0) + 1);
    this.#emitter.emit(key);
  }
}
