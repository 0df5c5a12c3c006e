import type { Clock, Ms } from '../env/clock.ts';
import { deadline, isAborted, sleep, untilAborted } from '../env/deadline.ts';
import { errorMessage } from '../env/error-text.ts';
import type { Logger } from '../env/logger.ts';
import type { Random } from '../env/random.ts';
import { PAGE_SIZE } from './client.ts';
import { isExpired, KubeError } from './errors.ts';
import { remedyOf } from './remedies.ts';
import { initialState, step } from './reflector-state.ts';
import type { ReflectorInput, ReflectorState, StoreEffect, Watching } from './reflector-state.ts';
import type { Store } from './store.ts';
import type { KubeClient, Resource, WatchEvent } from './types.ts';

/** Below the five minutes at which many load balancers drop an idle connection. */
const WATCH_TIMEOUT_SECONDS = 290;
/** ± of the timeout, so that watches opened together do not end together. */
const WATCH_TIMEOUT_JITTER = 0.05;
/** What a server gets beyond the timeout to end the watch, before the connection counts as dead. */
const IDLE_MARGIN: Ms = 15_000;
/** client-go's reflector: 0.8 s doubling to 30 s. */
const FIRST_BACKOFF: Ms = 800;
const LAST_BACKOFF: Ms = 30_000;
/** More is not waited for, whatever Retry-After says. */
const LONGEST_RETRY_AFTER: Ms = 60_000;

export interface ReflectorOptions {
  readonly client: KubeClient;
  readonly store: Store;
  /** Where the kind is served now; `undefined`: nowhere. Asked at the start and after a 404. */
  readonly resolve: (signal: AbortSignal) => Promise<Resource | undefined>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Absent: all namespaces. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

interface OpenWatch {
  readonly events: AsyncIterator<WatchEvent>;
  /** Whether the watch was ended from here, because nothing ended it in time. */
  isDead(): boolean;
  close(): void;
}

/**
 * Keeps a store equal to what the API server has of one kind: lists, watches, and starts over when it must. It runs until
 * its signal aborts; no failure of the server ends it. The states and their order are in reflector-state.ts.
 */
export class Reflector {
  readonly name: string;
  readonly needsLeadership = false;
  private readonly options: ReflectorOptions;
  private current: ReflectorState = initialState;
  private openWatch: OpenWatch | undefined;
  private readonly firstAnswer = Promise.withResolvers<void>();
  private readonly firstTry = Promise.withResolvers<void>();
  private trouble: string | undefined;

  constructor(options: ReflectorOptions) {
    this.options = options;
    this.name = `reflector of ${options.store.name}`;
  }

  get state(): ReflectorState {
    return this.current;
  }

  /** Resolves when the kind is listed, or known not to be served: until then there is nothing to work with. */
  started(signal: AbortSignal): Promise<void> {
    return untilAborted(signal, () => this.firstAnswer.promise);
  }

  /** As {@link started}, but also when the first try has failed: for those who can begin without. */
  tried(signal: AbortSignal): Promise<void> {
    return untilAborted(signal, () => this.firstTry.promise);
  }

  /** Why there is no list, or none that is kept up to date; `undefined` where there is one, or nothing was tried yet. */
  hindrance(): string | undefined {
    return this.trouble;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.options;
    try {
      while (!signal.aborted) {
        const input = await this.next(this.current, signal);
        if (isAborted(signal)) return;
        const { state, effect } = step(this.current, input, clock.monotonic());
        if (input.kind === 'ended' || state.kind !== 'watching') this.closeWatch();
        this.report(this.current, state, input);
        this.current = state;
        if (effect !== undefined) this.tell(effect);
        if (state.kind !== 'resolving' && state.kind !== 'listing') this.firstTry.resolve();
      }
    } finally {
      this.closeWatch();
    }
  }

  /** Does the one thing that the state has under way. */
  private async next(state: ReflectorState, signal: AbortSignal): Promise<ReflectorInput> {
    try {
      switch (state.kind) {
        case 'resolving':
          return { kind: 'resolved', resource: await this.options.resolve(signal) };
        case 'listing':
          return {
            kind: 'page',
            page: await this.options.client.list(state.resource, this.listOptions(state.continue, signal)),
          };
        case 'watching':
          return await this.nextEvent(state, signal);
        case 'comparing':
          return {
            kind: 'page',
            page: await this.options.client.list(state.resource, { ...this.scope(), limit: 1, signal }),
          };
        case 'unserved':
          // Whoever installs several kinds does so within seconds, as does an upgrade that changes a kind's version.
          await this.pause(this.backoff(state.misses), signal);
          return { kind: 'due' };
        case 'backingOff':
          await this.pause(Math.max(this.backoff(state.failures), askedBy(state.error)), signal);
          return { kind: 'due' };
      }
    } catch (error) {
      return { kind: 'failed', error };
    }
  }

  private listOptions(next: string | undefined, signal: AbortSignal): Parameters<KubeClient['list']>[1] {
    return { ...this.scope(), limit: PAGE_SIZE, ...(next === undefined ? {} : { continue: next }), signal };
  }

  private scope(): Pick<ReflectorOptions, 'namespace' | 'labelSelector' | 'fieldSelector'> {
    const { namespace, labelSelector, fieldSelector } = this.options;
    return {
      ...(namespace === undefined ? {} : { namespace }),
      ...(labelSelector === undefined ? {} : { labelSelector }),
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
    };
  }

  private async nextEvent(state: Watching, signal: AbortSignal): Promise<ReflectorInput> {
    const watch = (this.openWatch ??= this.watch(state, signal));
    const next = await watch.events.next();
    if (next.done !== true) return { kind: 'event', event: next.value };
    if (!watch.isDead()) return { kind: 'ended' };
    const message = 'watching: the server neither sent anything nor ended the watch in time';
    return { kind: 'failed', error: new KubeError(message, { status: 0, reason: 'NoAnswer' }) };
  }

  private watch({ resource, resourceVersion }: Watching, signal: AbortSignal): OpenWatch {
    const { client, clock, random } = this.options;
    const timeoutSeconds = Math.round(WATCH_TIMEOUT_SECONDS * (1 + WATCH_TIMEOUT_JITTER * (2 * random.next() - 1)));
    const limit = deadline(clock, timeoutSeconds * 1000 + IDLE_MARGIN, signal, 'the watch');
    const options = { ...this.scope(), resourceVersion, timeoutSeconds, signal: limit.signal };
    const events = client.watch(resource, options)[Symbol.asyncIterator]();
    return {
      events,
      isDead: () => limit.signal.aborted && !signal.aborted,
      close: () => {
        limit.dispose();
        // It is suspended between two events, if it has not ended: this runs its cleanup, which cuts the connection.
        void Promise.resolve(events.return?.()).catch(() => {});
      },
    };
  }

  private closeWatch(): void {
    this.openWatch?.close();
    this.openWatch = undefined;
  }

  private async pause(span: Ms, signal: AbortSignal): Promise<void> {
    // A stop ends it, and whoever waits looks for that.
    await sleep(this.options.clock, span, signal).catch(() => {});
  }

  private backoff(times: number): Ms {
    const ceiling = Math.min(FIRST_BACKOFF * 2 ** (times - 1), LAST_BACKOFF);
    // The upper half of the span: managers that lost the same server do not come back together.
    return ceiling * (0.5 + 0.5 * this.options.random.next());
  }

  private tell(effect: StoreEffect): void {
    const { store } = this.options;
    if (effect.kind === 'replaceAll' || effect.kind === 'markUnknown') this.firstAnswer.resolve();
    switch (effect.kind) {
      case 'replaceAll':
        return store.replaceAll(effect.items, effect.resourceVersion);
      case 'upsert':
        return store.upsert(effect.object);
      case 'remove':
        return store.remove(effect.object);
      case 'advance':
        return store.advance(effect.resourceVersion);
      case 'markUnknown':
        return store.markUnknown(notServed(store));
    }
  }

  private report(before: ReflectorState, after: ReflectorState, input: ReflectorInput): void {
    const { logger, store } = this.options;
    const keys = { resource: store.name };
    if (after.kind === 'watching') this.trouble = undefined;
    if (after.kind === 'unserved') {
      this.trouble = notServed(store);
      if (after.misses === 1) logger.info('The API server does not serve a kind, waiting for it', keys);
    }
    if (after.kind === 'backingOff') {
      const error = errorMessage(after.error);
      const remedy = remedyOf(after.error);
      this.trouble = remedy === undefined ? error : `${error}. ${remedy}`;
      const failure = { ...keys, doing: before.kind, failures: after.failures, error, ...(remedy && { remedy }) };
      // An old version is what happens to any watch that was away for a while.
      if (isExpired(after.error)) logger.debug('The reflector starts over', failure);
      else logger.warn('The reflector failed and will try again', failure);
    }
    if (before.kind === 'watching' && after.kind === 'comparing' && input.kind === 'failed')
      logger.debug('The watch was interrupted and goes on', { ...keys, error: errorMessage(input.error) });
    if (before.kind === 'comparing' && after.kind === 'listing')
      logger.warn('The API server knows less than it did: listing anew', { ...keys, seen: before.resourceVersion });
    if (before.kind === 'listing' && after.kind === 'watching') {
      logger.debug('Listed and watching', { ...keys, version: after.resource.version });
    }
  }
}

const notServed = ({ name }: Store): string => `the API server does not serve ${name}`;

/** How long the server would be left alone. */
const askedBy = (error: unknown): Ms =>
  error instanceof KubeError ? Math.min(error.retryAfter ?? 0, LONGEST_RETRY_AFTER) : 0;
