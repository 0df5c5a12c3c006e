import { EventEmitter } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { ApiClient, RawObject } from '../envtest/clients/api.ts';
import type { ChangeSubscription } from '../support/eventually.ts';

/**
 * The time after which a waiting test reads the object even without a watch event. An API server that is about to stop
 * may not send the event.
 */
const WATCHING_INTERVAL_MS = 1_000;
/**
 * The interval at which a waiting test reads the object while the watch is not connected. The watch is not connected
 * while the API server is down or does not serve the kind.
 */
const DISCONNECTED_INTERVAL_MS = 100;

/**
 * Watches one kind and notifies subscribers when an object changes, so that tests need not poll. It keeps all versions
 * of each object, so that a test also finds a state that a newer version has already replaced.
 */
export class WatchNotifier {
  readonly #api: ApiClient;
  readonly #path: string;
  readonly #stopping = new AbortController();
  readonly #emitter = new EventEmitter().setMaxListeners(0);
  readonly #eventCounts = new Map<string, number>();
  readonly #versions = new Map<string, RawObject[]>();
  readonly #watching: Promise<void>;
  #isConnected = false;

  /** @param path the path of the kind in the API server, without a namespace */
  constructor(api: ApiClient, path: string) {
    this.#api = api;
    this.#path = path;
    this.#watching = this.#watch();
  }

  subscribe(namespace: string, name: string): ChangeSubscription {
    const key = `${namespace}/${name}`;
    const before = this.#eventCounts.get(key);
    return {
      waitForChange: () =>
        new Promise((resolve) => {
          if (this.#eventCounts.get(key) !== before) return resolve();
          const end = (): void => {
            clearTimeout(timer);
            this.#emitter.off(key, end);
            resolve();
          };
          const timer = setTimeout(end, this.#isConnected ? WATCHING_INTERVAL_MS : DISCONNECTED_INTERVAL_MS);
          this.#emitter.on(key, end);
        }),
    };
  }

  /**
   * Returns the versions of an object that are newer than `resourceVersion`, oldest first, as far as the watch has
   * received them.
   */
  versionsAfter(resourceVersion: string, namespace: string, name: string): readonly RawObject[] {
    const versions = this.#versions.get(`${namespace}/${name}`) ?? [];
    return versions.filter(({ metadata }) => Number(metadata.resourceVersion) > Number(resourceVersion));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#watching;
  }

  /**
   * Watches the kind until `stop` is called. Tests kill API servers and remove CRDs, so after the end or failure of a
   * watch the notifier opens a new one.
   */
  async #watch(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        // A watch without a resourceVersion sends all existing objects first, so the notifier also learns of changes
        // that were made while no watch was open.
        for await (const { type, object } of this.#api.watch(this.#path, {}, signal)) {
          this.#isConnected = true;
          this.#notify(type, object);
        }
      } catch {
        // The error of the watch needs no report: while no watch is open, the subscribers poll the API server, and
        // their own requests report its errors.
      }
      this.#isConnected = false;
      await delay(DISCONNECTED_INTERVAL_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  #notify(type: string, object: RawObject): void {
    const key = `${object.metadata.namespace}/${object.metadata.name}`;
    if (type === 'ADDED' || type === 'MODIFIED') this.#versions.set(key, [...(this.#versions.get(key) ?? []), object]);
    this.#eventCounts.set(key, (this.#eventCounts.get(key) ?? 0) + 1);
    this.#emitter.emit(key);
  }
}
