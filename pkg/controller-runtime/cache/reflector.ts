import type { Clock, Ms } from '../env/clock.ts';
import { isAborted, pause, untilAborted, nextTurn } from '../async/deadline.ts';
import { errorMessage } from '../text/error-text.ts';
import type { Logger } from '../log/logger.ts';
import type { Random } from '../env/random.ts';
import { isExpired } from '../client/errors.ts';
import { PAGE_SIZE } from '../client/pages.ts';
import { type GrantOption, remedyOf } from '../client/permission-remedies.ts';
import { REQUEST_DEADLINE } from '../client/requests/api-requests.ts';
import { initialState, step } from './reflector-state.ts';
import type { ListingState, ReflectorInput, ReflectorState, StoreEffect, Watching } from './reflector-state.ts';
import type { Store, Unreadable } from './store.ts';
import type { KubeClient, Resource, Selection, WatchEvent } from '../client/types.ts';

export interface ReflectorOptions extends Selection, GrantOption {
  readonly client: KubeClient;
  readonly store: Store;
  /**
   * Returns the kind with the version under which the API server serves it, or `undefined` when it does not serve the
   * kind. Called at the start, and after a 404 until the kind is served.
   */
  readonly resolve: (signal: AbortSignal) => Promise<Resource | undefined>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** client-go's bounds. The backoff doubles with each failure. */
const FIRST_BACKOFF: Ms = 800;
const MAX_BACKOFF: Ms = 30_000;

/** `attempts` is the number of failed operations in a row. */
function backoffDelay(attempts: number, random: Random): Ms {
  const ceiling = Math.min(FIRST_BACKOFF * 2 ** (attempts - 1), MAX_BACKOFF);
  // Managers that lost the same API server must not reconnect at the same time.
  return ceiling * (0.5 + 0.5 * random.next());
}

/** How long a watch lasts: on average below the five minutes after which many load balancers drop idle connections. */
const WATCH_TIMEOUT_SECONDS = 290;
/** The fraction by which timeouts vary at random, so that watches that were opened together do not end together. */
const WATCH_TIMEOUT_JITTER = 0.05;
/**
 * A watch that sends neither an event nor a bookmark for this long is opened again, because a proxy or firewall may
 * have dropped its connection without closing it. kube-apiserver sends a bookmark about every minute.
 */
const LONGEST_SILENCE: Ms = 90_000;

const watchTimeoutSeconds = (random: Random): number =>
  Math.round(WATCH_TIMEOUT_SECONDS * (1 + WATCH_TIMEOUT_JITTER * (2 * random.next() - 1)));

/** An outage is reported after this time, which is longer than a restart of the API server. */
const REPORTED_OUTAGE: Ms = 180_000;

/** How many listed objects the reflector stores, which takes some milliseconds, before it lets other work run. */
const OBJECTS_PER_TURN = 50;

interface OpenWatch {
  readonly events: AsyncIterator<WatchEvent>;
  isClosed(): boolean;
  close(): void;
}

/**
 * Keeps a store equal to the objects of one kind in the API server: lists them, then watches them, and lists them again
 * when necessary (reflector-state.ts). `run` returns only when its signal aborts. No failure of the API server makes it
 * throw.
 */
export class Reflector {
  readonly name: string;
  private readonly options: ReflectorOptions;
  private current: ReflectorState = initialState;
  private openWatch: OpenWatch | undefined;
  private readonly firstSync = Promise.withResolvers<void>();
  private readonly firstAttempt = Promise.withResolvers<void>();
  private problem: Unreadable | undefined;
  /** When the watch began to fail. Undefined while it works, or while the API server does not serve the kind. */
  private brokenSince: Ms | undefined;

  constructor(options: ReflectorOptions) {
    this.options = options;
    this.name = `reflector of ${options.store.name}`;
  }

  get state(): ReflectorState {
    return this.current;
  }

  /** Resolves when the store has the first complete list, or the API server does not serve the kind. */
  started(signal: AbortSignal): Promise<void> {
    return untilAborted(signal, () => this.firstSync.promise);
  }

  /** Resolves after the first attempt to list, even a failed one, for callers that can begin without a list. */
  listAttempted(signal: AbortSignal): Promise<void> {
    return untilAborted(signal, () => this.firstAttempt.promise);
  }

  /** Returns why the store is not kept up to date, with a remedy if there is one. */
  currentProblem(): string | undefined {
    return this.problem?.reason;
  }

  /** Returns why the store is outdated, once the watch has failed for {@link REPORTED_OUTAGE} ms. */
  outage(): string | undefined {
    const span = this.outdatedFor();
    if (span < REPORTED_OUTAGE) return undefined;
    return `no watch for ${Math.floor(span / 60_000)} min: ${this.problem?.reason ?? 'each watch ends at once'}`;
  }

  /** Returns for how long the store has been outdated: 0 while the watch works or the kind is not served. */
  outdatedFor(): Ms {
    const now = this.options.clock.monotonic();
    return this.brokenSince === undefined || isOpen(this.current, now) ? 0 : now - this.brokenSince;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.options;
    try {
      while (!signal.aborted) {
        const input = await this.next(this.current, signal);
        if (isAborted(signal)) return;
        const { state, effect } = step(this.current, input, clock.monotonic());
        if (input.kind !== 'event' || state.kind !== 'watching') this.closeWatch();
        this.observeOutage(state, input);
        this.logTransition(this.current, state, input);
        this.current = state;
        if (effect?.kind === 'replaceAll') await this.replaceAll(effect, signal);
        else if (effect !== undefined) this.applyEffect(effect);
        if (state.kind !== 'resolving' && state.kind !== 'listing') this.firstAttempt.resolve();
      }
    } finally {
      this.closeWatch();
    }
  }

  /** Carries out the operation of `state`, and returns its result as the next input of `step`. */
  private async next(state: ReflectorState, signal: AbortSignal): Promise<ReflectorInput> {
    const { clock, random } = this.options;
    try {
      switch (state.kind) {
        case 'resolving':
          return { kind: 'resolved', resource: await this.options.resolve(signal) };
        case 'listing':
          return await this.list(state, signal);
        case 'watching':
          return await this.nextEvent(state, signal);
        case 'unserved':
        case 'backingOff':
          await pause(clock, backoffDelay(state.failures, random), signal);
          return { kind: 'due' };
      }
    } catch (error) {
      return { kind: 'failed', error };
    }
  }

  private async list(state: ListingState, signal: AbortSignal): Promise<ReflectorInput> {
    const { client, namespace, labelSelector, fieldSelector } = this.options;
    const options = { namespace, labelSelector, fieldSelector, limit: PAGE_SIZE, continue: state.continue, signal };
    return { kind: 'page', page: await client.list(state.resource, options) };
  }

  private async nextEvent(state: Watching, signal: AbortSignal): Promise<ReflectorInput> {
    const watch = (this.openWatch ??= this.watch(state, signal));
    const silence = this.options.clock.after(LONGEST_SILENCE, () => watch.close());
    try {
      const next = await watch.events.next();
      if (next.done !== true) return { kind: 'event', event: next.value };
      return { kind: watch.isClosed() ? 'silent' : 'ended' };
    } finally {
      silence.cancel();
    }
  }

  private watch({ resource, resourceVersion }: Watching, signal: AbortSignal): OpenWatch {
    const { client, random, namespace, labelSelector, fieldSelector } = this.options;
    const timeoutSeconds = watchTimeoutSeconds(random);
    const closing = new AbortController();
    const selection = { namespace, labelSelector, fieldSelector };
    const stop = AbortSignal.any([signal, closing.signal]);
    const options = { ...selection, resourceVersion, timeoutSeconds, signal: stop };
    const events = client.watch(resource, options)[Symbol.asyncIterator]();
    return {
      events,
      isClosed: () => closing.signal.aborted,
      close: () => {
        // Ends a pending read.
        closing.abort();
        // Runs the `finally` block of the generator, which closes the connection.
        void Promise.resolve(events.return?.()).catch(() => {});
      },
    };
  }

  private closeWatch(): void {
    this.openWatch?.close();
    this.openWatch = undefined;
  }

  private async replaceAll(
    { items, resourceVersion }: Extract<StoreEffect, { kind: 'replaceAll' }>,
    signal: AbortSignal,
  ): Promise<void> {
    const { store, clock } = this.options;
    let count = 0;
    for (const _ of store.replacing(items, resourceVersion)) {
      if (++count % OBJECTS_PER_TURN === 0) await nextTurn(clock, signal);
      if (isAborted(signal)) return;
    }
    this.firstSync.resolve();
  }

  private applyEffect(effect: Exclude<StoreEffect, { kind: 'replaceAll' }>): void {
    const { store } = this.options;
    if (effect.kind === 'markUnknown' || effect.kind === 'markUnserved') this.firstSync.resolve();
    switch (effect.kind) {
      case 'upsert':
        return store.upsert(effect.object);
      case 'remove':
        return store.remove(effect.object);
      case 'advance':
        return store.advance(effect.resourceVersion);
      case 'markUnknown':
        return store.markUnknown(notServed(store));
      case 'markUnserved':
        return store.markUnserved(notServed(store));
    }
  }

  private observeOutage(after: ReflectorState, input: ReflectorInput): void {
    const now = this.options.clock.monotonic();
    const isResumed = after.kind === 'watching' && (input.kind === 'event' || input.kind === 'ended');
    if (isResumed || after.kind === 'unserved' || isOpen(this.current, now)) this.brokenSince = undefined;
    if (after.kind === 'backingOff') this.brokenSince ??= now;
  }

  private logTransition(before: ReflectorState, after: ReflectorState, input: ReflectorInput): void {
    const { logger, store } = this.options;
    const keys = { resource: store.name };
    if (after.kind === 'watching') this.problem = undefined;
    if (after.kind === 'unserved') {
      const isNew = this.problem?.obstacle?.kind !== 'notServed';
      this.problem = notServed(store);
      if (isNew) logger.info('The API server does not serve a kind, waiting for it', keys);
    }
    if (after.kind === 'backingOff') {
      const error = errorMessage(after.error);
      const remedy = remedyOf(after.error, this.options);
      this.problem = { reason: remedy === undefined ? error : `${error}. ${remedy}` };
      const failure = { ...keys, doing: before.kind, failures: after.failures, error, ...(remedy && { remedy }) };
      // An expired resourceVersion is normal after a watch was interrupted for some minutes.
      if (isExpired(after.error)) logger.debug('The reflector starts over', failure);
      else logger.warn('The reflector failed and will try again', failure);
    }
    if (after.kind === 'watching' && input.kind === 'failed')
      logger.debug('The watch was interrupted and goes on', { ...keys, error: errorMessage(input.error) });
    if (input.kind === 'silent') logger.debug('The watch was silent and is opened again', keys);
    if (before.kind === 'listing' && after.kind === 'watching')
      logger.debug('Listed and watching', { ...keys, version: after.resource.version });
  }
}

/** True if the watch is certainly open: without response headers, it would have failed after REQUEST_DEADLINE. */
const isOpen = (state: ReflectorState, now: Ms): boolean =>
  state.kind === 'watching' && now - state.openedAt > REQUEST_DEADLINE;

const notServed = ({ name }: Store): Unreadable => ({
  reason: `the API server does not serve ${name}`,
  obstacle: { kind: 'notServed', resource: name },
});
