/**
 * Runs `width` workers at the same time and returns their results. Each worker gets the same `rest`: an iteration over
 * the items, of which each item goes to one worker only. After a worker has failed, `rest` has no more items, so that
 * the other workers end.
 * @throws the error of the worker that failed first, but only after all workers have ended
 */
export async function runWorkers<A, R>(
  items: readonly A[],
  width: number,
  work: (rest: Iterable<A>, worker: number) => Promise<R>,
): Promise<readonly R[]> {
  const iterator = items[Symbol.iterator]();
  const errors: unknown[] = [];
  const rest: Iterable<A> = {
    [Symbol.iterator]: () => ({
      next: () => (errors.length > 0 ? { done: true, value: undefined } : iterator.next()),
    }),
  };
  const results: R[] = [];
  await Promise.all(
    Array.from({ length: width }, async (_, worker) => {
      try {
        results.push(await work(rest, worker));
      } catch (error) {
        errors.push(error);
      }
    }),
  );
  if (errors.length > 0) throw errors[0];
  return results;
}

/**
 * Starts one task per item, in the order of the items. At most `width` tasks run at the same time. After a task has
 * failed, no further task starts.
 * @throws the error of the task that failed first, but only after all started tasks have ended
 */
export async function inParallel<A>(
  items: readonly A[],
  width: number,
  task: (item: A) => Promise<void>,
): Promise<void> {
  await runWorkers(items, width, async (rest) => {
    for (const item of rest) await task(item);
  });
}

/** Splits the items into groups of at most `size` items. */
export const chunks = <A>(items: readonly A[], size: number): readonly (readonly A[])[] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, index) => items.slice(index * size, (index + 1) * size));
