import type { Ms } from '../../env/clock.ts';
import { REQUEST_DEADLINE } from '../requests/deadlines.ts';
import type { ReflectorInput, ReflectorState } from './reflector-state.ts';

/**
 * How long the watch must have failed until `Reflector.outage` reports it: longer than a restart of the API
 * server.
 */
export const REPORTED_OUTAGE: Ms = 180_000;

/**
 * Measures for how long the watch of a reflector has not worked. A kind that the API server does not serve has no
 * outage.
 */
export class WatchOutage {
  private since: Ms | undefined;

  /**
   * The reflector calls this method after each step, with the state before the step, the input and the state after it.
   */
  observe(before: ReflectorState, input: ReflectorInput, after: ReflectorState, now: Ms): void {
    if (after.kind === 'unserved' || provesWatch(before, input, after, now)) this.since = undefined;
    if (after.kind === 'backingOff') this.since ??= now;
  }

  /** Returns for how long the watch has not worked; 0 while the watch works. */
  duration(state: ReflectorState, now: Ms): Ms {
    return this.since === undefined || isOpen(state, now) ? 0 : now - this.since;
  }
}

/**
 * Whether a watch is certainly open. The request for a watch fails if the API server sends no response headers within
 * REQUEST_DEADLINE. So a watch that has lasted longer is open, even if no bookmark has arrived yet.
 */
const isOpen = (state: ReflectorState, now: Ms): boolean =>
  state.kind === 'watching' && now - state.openedAt > REQUEST_DEADLINE;

/**
 * Whether this input shows that the reflector's watch has worked up to now. The watch may have ended with this input.
 */
const provesWatch = (before: ReflectorState, input: ReflectorInput, after: ReflectorState, now: Ms): boolean =>
  isOpen(before, now) ||
  (before.kind === 'watching' && after.kind === 'watching' && (input.kind === 'event' || input.kind === 'ended'));
