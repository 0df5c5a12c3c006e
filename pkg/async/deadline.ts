import type { Clock, Ms } from '../env/clock.ts';

/**
 * The error of an operation that exceeded its time limit. The class of the error distinguishes a timeout from an abort
 * by the caller.
 */
export class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded';
  readonly limit: Ms;

  constructor(what: string, limit: Ms) {
    super(`${what}: no result within ${inWords(limit)}`);
    this.limit = limit;
  }
}

const inWords = (span: Ms): string =>
  span >= 1000 ? `${Number((span / 1000).toFixed(1))} s` : `${Math.ceil(span)} ms`;

/**
 * An abort signal that aborts after a time limit, or when its parent signal aborts. The creator of a Deadline must
 * dispose of it as soon as the work with the signal is done. Disposing stops the timer of the Deadline, and removes its
 * listener from the parent signal.
 */
export interface Deadline extends Disposable {
  readonly signal: AbortSignal;
  readonly dispose: () => void;
}

/**
 * Makes a signal that aborts after `limit` ms with a {@link DeadlineExceeded}, whose message names the operation
 * `what`. If the signal `parent` aborts earlier, the new signal aborts at that moment with the reason of `parent`.
 */
export function deadline(clock: Clock, limit: Ms, parent?: AbortSignal, what = 'the operation'): Deadline {
  const controller = new AbortController();
  const { signal } = controller;
  if (parent?.aborted) {
    controller.abort(parent.reason);
    return { signal, dispose: nothing, [Symbol.dispose]: nothing };
  }
  const dispose = (): void => {
    timer.cancel();
    parent?.removeEventListener('abort', onParentAbort);
  };
  const end = (reason: unknown): void => {
    dispose();
    controller.abort(reason);
  };
  const onParentAbort = (): void => end(parent?.reason);
  const timer = clock.after(limit, () => end(new DeadlineExceeded(what, limit)));
  parent?.addEventListener('abort', onParentAbort);
  return { signal, dispose, [Symbol.dispose]: dispose };
}

const nothing = (): void => {};

/**
 * Runs the function `work` with a new signal that aborts after `limit` ms, or when the signal `parent` aborts. If
 * `parent` has already aborted, `work` does not run. When the new signal aborts, the returned promise rejects at once
 * with {@link DeadlineExceeded} or the reason of `parent`, even when `work` ignores the signal.
 */
export async function withDeadline<A>(
  clock: Clock,
  limit: Ms,
  parent: AbortSignal | undefined,
  what: string,
  work: (signal: AbortSignal) => Promise<A>,
): Promise<A> {
  const { signal, dispose } = deadline(clock, limit, parent, what);
  try {
    return await untilAborted(signal, work);
  } finally {
    dispose();
  }
}

/**
 * Runs the function `work`, unless `signal` has already aborted. The returned promise rejects with the reason of
 * `signal` as soon as `signal` aborts, even when `work` ignores `signal`.
 */
export function untilAborted<A>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<A>): Promise<A> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    const leave = (): void => signal.removeEventListener('abort', onAbort);
    // An async function turns an error that `work` throws synchronously into a rejection.
    (async () => work(signal))().finally(leave).then(resolve, reject);
  });
}

/** Waits `span` ms. Rejects with the reason of the abort signal `signal` as soon as `signal` aborts. */
export function sleep(clock: Clock, span: Ms, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const onAbort = (): void => {
      timer.cancel();
      reject(signal.reason);
    };
    const timer = clock.after(span, () => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    });
    signal.addEventListener('abort', onAbort, { once: true });
  });
}

/** Returns a promise that resolves when the abort signal `signal` aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/**
 * Whether a signal has aborted. This is a function because TypeScript assumes that the property `aborted` never
 * changes.
 */
export const isAborted = (signal: AbortSignal): boolean => signal.aborted;
