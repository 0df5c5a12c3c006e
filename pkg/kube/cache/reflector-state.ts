import type { Ms } from '../../env/clock.ts';
import { isExpired, isInterrupted, isNoAnswer, isUndecodable, KubeError } from '../errors.ts';
import { isOlder } from './resource-version.ts';
import type { KubeList, KubeObject, Resource, WatchEvent } from '../types.ts';

// The states of a reflector. Each state stands for one operation: the class Reflector carries it out, and passes the
// result to the pure function `step` as an input.
//
//   resolving ──▶ listing ──▶ watching ──▶ watching …
//    ▲  │            │  ▲        │  ▲
//    │  ▼            ▼  │        ▼  │
//    unserved      backingOff ◀─▶ comparing
//
// After the backoff the reflector repeats the operation that failed. After most failures of a watch, it first checks in
// `comparing` that the API server still has every change that the store has seen. If the API server did not answer at
// all, the reflector goes to `listing`: an administrator may have restored etcd from a backup meanwhile, and new writes
// may have raised its resourceVersion above that of the store, which a comparison would not notice.

/** A watch that has run for this long without a failure resets the backoff. Both values are those of client-go. */
const HEALTHY_AFTER: Ms = 120_000;
/** A watch that the API server closes within this time and without an event counts as failed. */
const SHORTEST_SILENT_WATCH: Ms = 1_000;

interface RetryCounts {
  /** The number of backoffs since a watch has last run for {@link HEALTHY_AFTER} ms. */
  readonly failures: number;
  /** How many times in a row the API server has not served the kind. */
  readonly misses: number;
}

/** Asks the discovery for the version under which the API server serves the kind. */
export interface Resolving extends RetryCounts {
  readonly kind: 'resolving';
}

export interface Unserved extends RetryCounts {
  readonly kind: 'unserved';
}

/** Lists the objects page by page. After the last page all objects of the store are replaced in one step. */
export interface ListingState extends RetryCounts {
  readonly kind: 'listing';
  readonly resource: Resource;
  readonly collected: readonly KubeObject[];
  readonly continue: string | undefined;
}

export interface Watching extends RetryCounts {
  readonly kind: 'watching';
  readonly resource: Resource;
  /** The store has every change of the kind up to this resourceVersion. */
  readonly resourceVersion: string;
  /** The monotonic time since which no watch has failed. */
  readonly healthySince: Ms;
  /** The monotonic time at which the current watch was opened. */
  readonly openedAt: Ms;
  /** Whether the current watch has sent neither an event nor a bookmark yet. */
  readonly isWithoutEvents: boolean;
}

/**
 * Checks, after a failed watch, that the resourceVersion of the API server is not older than that of the store. An API
 * server whose etcd was restored from a backup accepts a watch from a newer resourceVersion than its own, and sends
 * nothing until etcd reaches that version. Until then the store would be wrong, and every write would conflict.
 */
export interface Comparing extends RetryCounts {
  readonly kind: 'comparing';
  readonly resource: Resource;
  readonly resourceVersion: string;
}

export interface BackingOff extends RetryCounts {
  readonly kind: 'backingOff';
  readonly error: unknown;
  readonly next: Resolving | ListingState | Comparing;
}

export type ReflectorState = Resolving | Unserved | ListingState | Watching | Comparing | BackingOff;

export type ReflectorInput =
  | { readonly kind: 'resolved'; readonly resource: Resource | undefined }
  | { readonly kind: 'page'; readonly page: KubeList }
  | { readonly kind: 'event'; readonly event: WatchEvent }
  /** The API server closed the watch without an error. */
  | { readonly kind: 'ended' }
  | { readonly kind: 'failed'; readonly error: unknown }
  /** The delay of the state `backingOff` or `unserved` is over. */
  | { readonly kind: 'due' };

export type StoreEffect =
  | { readonly kind: 'replaceAll'; readonly items: readonly KubeObject[]; readonly resourceVersion: string }
  | { readonly kind: 'upsert'; readonly object: KubeObject }
  | { readonly kind: 'remove'; readonly object: KubeObject }
  | { readonly kind: 'advance'; readonly resourceVersion: string }
  /** The API server answered 404 for the collection. A load balancer can do so too, so discovery has to confirm it. */
  | { readonly kind: 'markUnknown' }
  | { readonly kind: 'markUnserved' };

export interface Transition {
  readonly state: ReflectorState;
  readonly effect?: StoreEffect;
}

export const initialState: ReflectorState = { kind: 'resolving', failures: 0, misses: 0 };

/** @throws TypeError for an input that is impossible in this state */
export function step(state: ReflectorState, input: ReflectorInput, now: Ms): Transition {
  switch (state.kind) {
    case 'resolving':
      if (input.kind === 'resolved')
        return input.resource === undefined
          ? { ...toUnserved(state), effect: { kind: 'markUnserved' } }
          : { state: toListing(state, input.resource) };
      if (input.kind === 'failed') return { state: toBackingOff(state, input.error, state) };
      break;
    case 'unserved':
      if (input.kind === 'due') return { state: { ...state, kind: 'resolving' } };
      break;
    case 'backingOff':
      if (input.kind === 'due') return { state: state.next };
      break;
    case 'listing':
      if (input.kind === 'page') return addPage(state, input.page, now);
      if (input.kind === 'failed') return failListing(state, input.error);
      break;
    case 'comparing':
      if (input.kind === 'page') return { state: resumeOrRelist(state, input.page, now) };
      if (input.kind === 'failed') return failComparing(state, input.error);
      break;
    case 'watching':
      if (input.kind === 'event') return handleEvent(state, input.event, now);
      if (input.kind === 'ended') return endWatch(state, now);
      if (input.kind === 'failed') return failWatch(state, input.error, now);
      break;
  }
  throw new TypeError(`a reflector that is ${state.kind} cannot take the input ${input.kind}`);
}

function addPage(state: ListingState, page: KubeList, now: Ms): Transition {
  const items = [...state.collected, ...page.items];
  if (page.continue !== undefined) return { state: { ...state, collected: items, continue: page.continue } };
  const { resourceVersion } = page;
  return {
    state: toWatching({ ...state, misses: 0 }, resourceVersion, now),
    effect: { kind: 'replaceAll', items, resourceVersion },
  };
}

/** A list from etcd is not older than earlier lists and watch events, unless etcd was restored from a backup. */
const resumeOrRelist = (state: Comparing, { resourceVersion }: KubeList, now: Ms): ListingState | Watching =>
  isOlder(resourceVersion, state.resourceVersion)
    ? toListing(state, state.resource)
    : toWatching(state, state.resourceVersion, now);

function failComparing(state: Comparing, error: unknown): Transition {
  if (isCollectionNotFound(error)) return toUnserved(state);
  return { state: toBackingOff(state, error, isNoAnswer(error) ? toListing(state, state.resource) : state) };
}

function failListing(state: ListingState, error: unknown): Transition {
  if (isCollectionNotFound(error)) return toUnserved(state);
  // With 410 the continue token has expired. The pages so far are useless: the API server no longer has their version.
  const next = isExpired(error) ? toListing(state, state.resource) : state;
  return { state: toBackingOff(state, error, next) };
}

function handleEvent(state: Watching, event: WatchEvent, now: Ms): Transition {
  switch (event.type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED': {
      const { object } = event;
      const { resourceVersion } = object.metadata;
      return {
        state: { ...state, resourceVersion, isWithoutEvents: false },
        effect: { kind: event.type === 'DELETED' ? 'remove' : 'upsert', object },
      };
    }
    case 'BOOKMARK': {
      const { resourceVersion } = event;
      return {
        state: { ...state, resourceVersion, isWithoutEvents: false },
        effect: { kind: 'advance', resourceVersion },
      };
    }
    case 'ERROR': {
      const { code, reason, message } = event.status;
      const error = new KubeError(`watching: ${message}`, { status: code, reason });
      // The store may miss changes now.
      const counts = currentCounts(state, now);
      return { state: toBackingOff(counts, error, toListing(counts, state.resource)) };
    }
  }
}

function endWatch(state: Watching, now: Ms): Transition {
  if (isTooShort(state, now)) {
    const error = new KubeError('watching: closed at once, without an event', { status: 0, reason: 'Interrupted' });
    return failWatch(state, error, now);
  }
  return { state: { ...state, openedAt: now, isWithoutEvents: true } };
}

function failWatch(state: Watching, error: unknown, now: Ms): Transition {
  if (isCollectionNotFound(error)) return toUnserved(state);
  const counts = currentCounts(state, now);
  const { resource, resourceVersion } = state;
  if (mustRelist(error)) return { state: toBackingOff(counts, error, toListing(counts, resource)) };
  const next: Comparing = { kind: 'comparing', resource, resourceVersion, ...counts };
  // As in client-go, there is no backoff after an interrupted watch. Some load balancers cut a silent connection before
  // HEALTHY_AFTER, so the backoff would only grow.
  return { state: isInterrupted(error) && !isTooShort(state, now) ? next : toBackingOff(counts, error, next) };
}

/**
 * Three failures of a watch require a new list: 410, because the history of the API server no longer reaches back to the
 * resourceVersion; an event that cannot be decoded, which a new watch would send again; and no answer (see above).
 */
const mustRelist = (error: unknown): boolean => isExpired(error) || isUndecodable(error) || isNoAnswer(error);

const isTooShort = ({ isWithoutEvents, openedAt }: Watching, now: Ms): boolean =>
  isWithoutEvents && now - openedAt < SHORTEST_SILENT_WATCH;

/** With or without a Status in the body, 404 for a collection probably means that the kind is not served. */
const isCollectionNotFound = (error: unknown): boolean => error instanceof KubeError && error.status === 404;

const toUnserved = ({ failures, misses }: RetryCounts): Transition => ({
  state: { kind: 'unserved', failures, misses: misses + 1 },
  effect: { kind: 'markUnknown' },
});

const toWatching = (
  { failures, misses, resource }: RetryCounts & { readonly resource: Resource },
  resourceVersion: string,
  now: Ms,
): Watching => ({
  kind: 'watching',
  resource,
  resourceVersion,
  failures,
  misses,
  healthySince: now,
  openedAt: now,
  isWithoutEvents: true,
});

const toListing = ({ failures, misses }: RetryCounts, resource: Resource): ListingState => ({
  kind: 'listing',
  resource,
  collected: [],
  continue: undefined,
  failures,
  misses,
});

const currentCounts = (state: Watching, now: Ms): RetryCounts => ({
  failures: now - state.healthySince >= HEALTHY_AFTER ? 0 : state.failures,
  misses: state.misses,
});

function toBackingOff({ failures, misses }: RetryCounts, error: unknown, next: BackingOff['next']): BackingOff {
  const count = failures + 1;
  return { kind: 'backingOff', error, failures: count, misses, next: { ...next, failures: count } };
}
