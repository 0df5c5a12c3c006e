import type { Clock, Ms } from './clock.ts';

/** Something took longer than it may. `name` is `DeadlineExceeded`, so that it is told from a stop of the caller. */
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

/** A signal with an end. Dispose it when the work is done, or its timer and its hold on the parent stay. */
export interface Deadline extends Disposable {
  readonly signal: AbortSignal;
  readonly dispose: () => void;
}

/**
 * A signal that aborts after `limit` ms with {@link DeadlineExceeded} naming `what`, or as soon as `parent` aborts, with
 * the parent's reason.
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
 * Runs `work` with a signal that aborts after `limit` ms or with `parent`. Settles at that moment even when `work` never
 * does: work that ignores its signal costs its caller `limit`, not more. Throws {@link DeadlineExceeded} or the parent's
 * reason.
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

/** Runs `work`, but settles with the signal's reason as soon as it aborts, even when `work` does not listen. */
export function untilAborted<A>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<A>): Promise<A> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    const leave = (): void => signal.removeEventListener('abort', onAbort);
    // `async`, so that work which throws before its first promise rejects as well.
    (async () => work(signal))().finally(leave).then(resolve, reject);
  });
}

/** Waits `span` ms. Throws the signal's reason as soon as it aborts. */
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

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** As a call, since the compiler takes the property for a constant where it was looked at before. */
export const isAborted = (signal: AbortSignal): boolean => signal.aborted;
