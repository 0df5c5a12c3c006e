import type { Clock, Ms } from '../env/clock.ts';

/** The error of an operation that exceeded its time limit, as distinct from an abort by the caller. */
export class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded';

  constructor(what: string, limit: Ms) {
    super(`${what}: no result within ${inWords(limit)}`);
  }
}

const inWords = (span: Ms): string =>
  span >= 1000 ? `${Number((span / 1000).toFixed(1))} s` : `${Math.ceil(span)} ms`;

/**
 * Returns a signal that aborts after `limit` ms with a {@link DeadlineExceeded}, whose message contains `what`. If
 * `parent` aborts earlier, the signal aborts with the reason of `parent`. The caller must call `dispose` as soon as the
 * work is done.
 */
export function deadline(
  clock: Clock,
  limit: Ms,
  parent: AbortSignal | undefined,
  what: string,
): { readonly signal: AbortSignal; readonly dispose: () => void } {
  const controller = new AbortController();
  const { signal } = controller;
  if (parent?.aborted) {
    controller.abort(parent.reason);
    return { signal, dispose: () => {} };
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
  return { signal, dispose };
}

/**
 * Runs `work` with the signal of a {@link deadline}, unless `parent` has already aborted. Rejects as soon as that
 * signal aborts, even when `work` ignores it.
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

/** Does the same as {@link withDeadline}, with `signal` in place of a deadline's signal. */
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

/** Resolves after `span` ms. Rejects with the reason of `signal` as soon as `signal` aborts. */
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

/** Resolves after `span` ms, or as soon as `signal` aborts. */
export const pause = (clock: Clock, span: Ms, signal: AbortSignal): Promise<void> =>
  sleep(clock, span, signal).catch(() => {});

/** Lets requests, timers, and other work run before it resolves. */
export const nextTurn = (clock: Clock, signal: AbortSignal): Promise<void> => pause(clock, 0, signal);

export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** Reads `signal.aborted` in a function, because TypeScript assumes that a checked property does not change later. */
export const isAborted = (signal: AbortSignal): boolean => signal.aborted;
