import type { Ms } from '../env/clock.ts';
import { isExpired, isInterrupted, isUndecodable, KubeError } from './errors.ts';
import { isOlder } from './resource-version.ts';
import type { KubeList, KubeObject, Resource, WatchEvent } from './types.ts';

// The life of a reflector as a state machine, without time, randomness or I/O of its own: `step` is a pure function.
// Each state has exactly one thing under way, which the shell in reflector.ts carries out and answers with an input:
//
//   resolving ──▶ listing ──▶ watching ──▶ watching …
//    ▲  │            │  ▲        │  ▲
//    │  ▼            ▼  │        ▼  │
//    unserved      backingOff ◀─▶ comparing
//
// After a pause goes on what failed; for a watch that is the look whether the server still knows as much as it did. One that
// was interrupted needs no pause before it.

interface History {
  /** Failures in a row, until a watch has been healthy for {@link HEALTHY_AFTER}. */
  readonly failures: number;
  /** How often in a row the server said that it does not serve the kind. */
  readonly misses: number;
}

/** Finding out under which version the kind is served. */
export interface Resolving extends History {
  readonly kind: 'resolving';
}

/** The kind is not served; asked again after a while. */
export interface Unserved extends History {
  readonly kind: 'unserved';
}

/** Collecting pages: the store is replaced at once, when the last one is in. */
export interface Listing extends History {
  readonly kind: 'listing';
  readonly resource: Resource;
  readonly collected: readonly KubeObject[];
  readonly continue: string | undefined;
}

export interface Watching extends History {
  readonly kind: 'watching';
  readonly resource: Resource;
  /** Everything up to here is in the store. */
  readonly resourceVersion: string;
  /** When the present row of watches without a failure began, monotonic. */
  readonly healthySince: Ms;
  /** When the present watch began, monotonic. */
  readonly opened: Ms;
  /** Whether the present watch has brought nothing yet. */
  readonly isSilent: boolean;
}

/**
 * Finding out whether the server that answers after a failure knows all that was seen. One whose etcd was restored from a
 * backup does not, and says nothing to a watch that claims to have seen more: it would be silent until as much has happened
 * again, and every write would meet a conflict.
 */
export interface Comparing extends History {
  readonly kind: 'comparing';
  readonly resource: Resource;
  readonly resourceVersion: string;
}

export interface BackingOff extends History {
  readonly kind: 'backingOff';
  readonly error: unknown;
  /** What goes on after the pause. */
  readonly next: Resolving | Listing | Comparing;
}

export type ReflectorState = Resolving | Unserved | Listing | Watching | Comparing | BackingOff;

export type ReflectorInput =
  | { readonly kind: 'resolved'; readonly resource: Resource | undefined }
  | { readonly kind: 'page'; readonly page: KubeList }
  | { readonly kind: 'event'; readonly event: WatchEvent }
  /** The server closed the watch in good order. */
  | { readonly kind: 'ended' }
  | { readonly kind: 'failed'; readonly error: unknown }
  /** The pause is over. */
  | { readonly kind: 'due' };

/** What the store is told. */
export type StoreEffect =
  | { readonly kind: 'replaceAll'; readonly items: readonly KubeObject[]; readonly resourceVersion: string }
  | { readonly kind: 'upsert'; readonly object: KubeObject }
  | { readonly kind: 'remove'; readonly object: KubeObject }
  | { readonly kind: 'advance'; readonly resourceVersion: string }
  | { readonly kind: 'markUnknown' };

export interface Transition {
  readonly state: ReflectorState;
  readonly effect?: StoreEffect;
}

/** client-go's reflector: its backoff starts anew after two minutes without a failure. */
const HEALTHY_AFTER: Ms = 120_000;
/** client-go: a watch that is closed within a second and brought nothing is a failure, not an end. */
const SHORTEST_SILENT_WATCH: Ms = 1_000;

export const initialState: ReflectorState = { kind: 'resolving', failures: 0, misses: 0 };

/** @throws TypeError for an input that the state cannot have: a mistake in the shell. */
export function step(state: ReflectorState, input: ReflectorInput, now: Ms): Transition {
  switch (state.kind) {
    case 'resolving':
      if (input.kind === 'resolved')
        return input.resource === undefined ? missed(state) : { state: freshListing(state, input.resource) };
      if (input.kind === 'failed') return { state: backOff(state, input.error, state) };
      break;
    case 'unserved':
      if (input.kind === 'due') return { state: { ...state, kind: 'resolving' } };
      break;
    case 'backingOff':
      if (input.kind === 'due') return { state: state.next };
      break;
    case 'listing':
      if (input.kind === 'page') return turnPage(state, input.page, now);
      if (input.kind === 'failed') return failListing(state, input.error);
      break;
    case 'comparing':
      if (input.kind === 'page') return { state: compare(state, input.page, now) };
      if (input.kind === 'failed')
        return isGoneKind(input.error) ? missed(state) : { state: backOff(state, input.error, state) };
      break;
    case 'watching':
      if (input.kind === 'event') return takeEvent(state, input.event, now);
      if (input.kind === 'ended') return endWatch(state, now);
      if (input.kind === 'failed') return failWatch(state, input.error, now);
      break;
  }
  throw new TypeError(`a reflector that is ${state.kind} cannot take the input ${input.kind}`);
}

function turnPage(state: Listing, page: KubeList, now: Ms): Transition {
  const items = [...state.collected, ...page.items];
  if (page.continue !== undefined) return { state: { ...state, collected: items, continue: page.continue } };
  const { resourceVersion } = page;
  return {
    state: newWatch({ ...state, misses: 0 }, resourceVersion, now),
    effect: { kind: 'replaceAll', items, resourceVersion },
  };
}

/** Any list that is read through etcd is at least as new as all that its server has shown before. */
const compare = (state: Comparing, { resourceVersion }: KubeList, now: Ms): Listing | Watching =>
  isOlder(resourceVersion, state.resourceVersion)
    ? freshListing(state, state.resource)
    : newWatch(state, state.resourceVersion, now);

function failListing(state: Listing, error: unknown): Transition {
  if (isGoneKind(error)) return missed(state);
  // A page token has expired: the pages before it belong to a past that the server no longer knows.
  const next = isExpired(error) ? freshListing(state, state.resource) : state;
  return { state: backOff(state, error, next) };
}

function takeEvent(state: Watching, event: WatchEvent, now: Ms): Transition {
  switch (event.type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED': {
      const { object } = event;
      const { resourceVersion } = object.metadata;
      return {
        state: { ...state, resourceVersion, isSilent: false },
        effect: { kind: event.type === 'DELETED' ? 'remove' : 'upsert', object },
      };
    }
    case 'BOOKMARK': {
      const { resourceVersion } = event;
      return {
        state: { ...state, resourceVersion, isSilent: false },
        effect: { kind: 'advance', resourceVersion },
      };
    }
    case 'ERROR': {
      const { code, reason, message } = event.status;
      const error = new KubeError(`watching: ${message}`, { status: code, reason });
      // Whatever it was, events may be missing from here on.
      const history = afterHealth(state, now);
      return { state: backOff(history, error, freshListing(history, state.resource)) };
    }
  }
}

function endWatch(state: Watching, now: Ms): Transition {
  if (isTooShort(state, now)) {
    const error = new KubeError('watching: closed at once, without an event', { status: 0, reason: 'NoAnswer' });
    return failWatch(state, error, now);
  }
  return { state: { ...state, opened: now, isSilent: true } };
}

function failWatch(state: Watching, error: unknown, now: Ms): Transition {
  if (isGoneKind(error)) return missed(state);
  const history = afterHealth(state, now);
  // An event that cannot be read would come again and again; a list brings what it was about.
  const mustList = isExpired(error) || isUndecodable(error);
  const { resource, resourceVersion } = state;
  if (mustList) return { state: backOff(history, error, freshListing(history, resource)) };
  const next: Comparing = { kind: 'comparing', resource, resourceVersion, ...history };
  // As client-go: there are load balancers that break what was quiet for less time than it takes to count as healthy.
  return { state: isInterrupted(error) && !isTooShort(state, now) ? next : backOff(history, error, next) };
}

const isTooShort = ({ isSilent, opened }: Watching, now: Ms): boolean =>
  isSilent && now - opened < SHORTEST_SILENT_WATCH;

/** Any 404 for a collection: also where the server of the kind answers with a Status. */
const isGoneKind = (error: unknown): boolean => error instanceof KubeError && error.status === 404;

const missed = ({ failures, misses }: History): Transition => ({
  state: { kind: 'unserved', failures, misses: misses + 1 },
  effect: { kind: 'markUnknown' },
});

const newWatch = (
  { failures, misses, resource }: History & { readonly resource: Resource },
  resourceVersion: string,
  now: Ms,
): Watching => ({
  kind: 'watching',
  resource,
  resourceVersion,
  failures,
  misses,
  healthySince: now,
  opened: now,
  isSilent: true,
});

const freshListing = ({ failures, misses }: History, resource: Resource): Listing => ({
  kind: 'listing',
  resource,
  collected: [],
  continue: undefined,
  failures,
  misses,
});

const afterHealth = (state: Watching, now: Ms): History => ({
  failures: now - state.healthySince >= HEALTHY_AFTER ? 0 : state.failures,
  misses: state.misses,
});

function backOff({ failures, misses }: History, error: unknown, next: BackingOff['next']): BackingOff {
  const count = failures + 1;
  return { kind: 'backingOff', error, failures: count, misses, next: { ...next, failures: count } };
}
