import type { Ms } from '../env/clock.ts';
import { isExpired, isInterrupted, KubeError } from '../client/errors.ts';
import type { KubeList, KubeObject, Resource, WatchEvent } from '../client/types.ts';

// The states of a reflector. Each state stands for one operation: the class Reflector carries it out, and passes the
// result to the pure function `step` as an input.
//
//   resolving ──▶ listing ──▶ watching ──▶ watching …
//    ▲  │          │  ▲          │
//    │  ▼          ▼  │          ▼
//    unserved     backingOff ◀───┘
//
// An interrupted or silent watch is opened again immediately, from the newest resourceVersion that the store has seen.
// After any other failure of a watch the reflector lists again: an administrator may have restored etcd from a backup
// while the API server did not answer. A watch from a resourceVersion that the restored etcd does not have yet would
// miss changes. Such a watch is silent, so the reflector also lists again when the new watch is silent too.

/** A watch that has run for this long without a failure resets the backoff, as in client-go. */
const HEALTHY_AFTER: Ms = 120_000;
/** A watch that the API server closes within this time and without an event counts as failed, as in client-go. */
const SHORTEST_SILENT_WATCH: Ms = 1_000;

interface Failures {
  /**
   * The number of failures in a row. A kind that is not served counts as a failure. The number is reset when a watch
   * has worked for {@link HEALTHY_AFTER} ms.
   */
  readonly failures: number;
}

/** The reflector is using discovery to find the version in which the API server serves the kind. */
export interface Resolving extends Failures {
  readonly kind: 'resolving';
}

export interface Unserved extends Failures {
  readonly kind: 'unserved';
}

/** Lists the objects page by page. After the last page, all objects of the store are replaced in one step. */
export interface ListingState extends Failures {
  readonly kind: 'listing';
  readonly resource: Resource;
  readonly collected: readonly KubeObject[];
  readonly continue: string | undefined;
}

export interface Watching extends Failures {
  readonly kind: 'watching';
  readonly resource: Resource;
  /** The store has every change of the kind up to this resourceVersion. */
  readonly resourceVersion: string;
  /** When the latest list was complete, on the monotonic clock. No watch has failed since then. */
  readonly healthySince: Ms;
  /** When the current watch was opened, on the monotonic clock. */
  readonly openedAt: Ms;
  /** Whether the current watch has sent neither an event nor a bookmark yet. */
  readonly isWithoutEvents: boolean;
  /** Whether the current watch replaces a silent one, and has not sent events itself. */
  readonly isAfterSilence: boolean;
}

export interface BackingOff extends Failures {
  readonly kind: 'backingOff';
  readonly error: unknown;
  readonly next: Resolving | ListingState;
}

export type ReflectorState = Resolving | Unserved | ListingState | Watching | BackingOff;

export type ReflectorInput =
  | { readonly kind: 'resolved'; readonly resource: Resource | undefined }
  | { readonly kind: 'page'; readonly page: KubeList }
  | { readonly kind: 'event'; readonly event: WatchEvent }
  /** The API server closed the watch without an error. */
  | { readonly kind: 'ended' }
  /** The watch has sent neither an event nor a bookmark for too long. */
  | { readonly kind: 'silent' }
  | { readonly kind: 'failed'; readonly error: unknown }
  /** The delay of `backingOff` or `unserved` is over. */
  | { readonly kind: 'due' };

export type StoreEffect =
  | { readonly kind: 'replaceAll'; readonly items: readonly KubeObject[]; readonly resourceVersion: string }
  | { readonly kind: 'upsert'; readonly object: KubeObject }
  | { readonly kind: 'remove'; readonly object: KubeObject }
  | { readonly kind: 'advance'; readonly resourceVersion: string }
  /** The response was 404. A load balancer can send it too, so discovery must confirm that the kind is not served. */
  | { readonly kind: 'markUnknown' }
  | { readonly kind: 'markUnserved' };

export interface Transition {
  readonly state: ReflectorState;
  readonly effect?: StoreEffect;
}

export const initialState: ReflectorState = { kind: 'resolving', failures: 0 };

/** Returns the next state, and the change of the store. @throws TypeError if `state` cannot have this input */
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
    case 'watching':
      if (input.kind === 'event') return handleEvent(state, input.event, now);
      if (input.kind === 'ended') return endWatch(state, now);
      if (input.kind === 'silent') return replaceSilentWatch(state, now);
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
    state: toWatching(state, resourceVersion, now),
    effect: { kind: 'replaceAll', items, resourceVersion },
  };
}

function failListing(state: ListingState, error: unknown): Transition {
  if (isCollectionNotFound(error)) return toUnserved(state);
  // With 410 the continue token has expired. The pages so far cannot be used, because the API server no longer has
  // their version.
  const next = isExpired(error) ? toListing(state, state.resource) : state;
  return { state: toBackingOff(state, error, next) };
}

const FED = { isWithoutEvents: false, isAfterSilence: false };

function handleEvent(state: Watching, event: WatchEvent, now: Ms): Transition {
  switch (event.type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED': {
      const { object } = event;
      const { resourceVersion } = object.metadata;
      return {
        state: { ...state, resourceVersion, ...FED },
        effect: { kind: event.type === 'DELETED' ? 'remove' : 'upsert', object },
      };
    }
    case 'BOOKMARK': {
      const { resourceVersion } = event;
      return {
        state: { ...state, resourceVersion, ...FED },
        effect: { kind: 'advance', resourceVersion },
      };
    }
    case 'ERROR': {
      const { code, reason, message } = event.status;
      const error = new KubeError(`watching: ${message}`, { status: code, reason });
      return { state: relistAfterBackoff(state, error, now) };
    }
  }
}

function endWatch(state: Watching, now: Ms): Transition {
  if (isTooShort(state, now)) {
    const error = new KubeError('watching: closed at once, without an event', { status: 0, reason: 'Interrupted' });
    return { state: relistAfterBackoff(state, error, now) };
  }
  return { state: { ...state, openedAt: now, isWithoutEvents: true } };
}

/**
 * Opens the watch again, because the connection may be dead although neither side has closed it. But an API server
 * without changes sometimes sends no bookmark for two minutes, so silence does not count as a failure.
 */
function replaceSilentWatch(state: Watching, now: Ms): Transition {
  if (state.isAfterSilence) return { state: toListing(state, state.resource) };
  return { state: { ...state, openedAt: now, isWithoutEvents: true, isAfterSilence: true } };
}

function failWatch(state: Watching, error: unknown, now: Ms): Transition {
  if (isCollectionNotFound(error)) return toUnserved(state);
  // As in client-go, there is no backoff after an interrupted watch: some load balancers drop an idle connection.
  return isInterrupted(error) ? endWatch(state, now) : { state: relistAfterBackoff(state, error, now) };
}

function relistAfterBackoff(state: Watching, error: unknown, now: Ms): BackingOff {
  const failures = now - state.healthySince >= HEALTHY_AFTER ? 0 : state.failures;
  return toBackingOff({ failures }, error, toListing({ failures }, state.resource));
}

const isTooShort = ({ isWithoutEvents, openedAt }: Watching, now: Ms): boolean =>
  isWithoutEvents && now - openedAt < SHORTEST_SILENT_WATCH;

/** With or without a Status in the body, a 404 for a collection probably means that the kind is not served. */
const isCollectionNotFound = (error: unknown): boolean => error instanceof KubeError && error.status === 404;

const toUnserved = ({ failures }: Failures): Transition => ({
  state: { kind: 'unserved', failures: failures + 1 },
  effect: { kind: 'markUnknown' },
});

const toWatching = ({ failures, resource }: ListingState, resourceVersion: string, now: Ms): Watching => ({
  kind: 'watching',
  resource,
  resourceVersion,
  failures,
  healthySince: now,
  openedAt: now,
  isWithoutEvents: true,
  isAfterSilence: false,
});

const toListing = ({ failures }: Failures, resource: Resource): ListingState => ({
  kind: 'listing',
  resource,
  collected: [],
  continue: undefined,
  failures,
});

const toBackingOff = ({ failures }: Failures, error: unknown, next: BackingOff['next']): BackingOff => ({
  kind: 'backingOff',
  error,
  failures: failures + 1,
  next: { ...next, failures: failures + 1 },
});
