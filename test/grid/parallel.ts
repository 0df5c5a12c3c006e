/** Starts one task per item, in the order of the items. At most `width` tasks run at the same time. */
export async function inParallel<A>(
  items: readonly A[],
  width: number,
  task: (item: A) => Promise<void>,
): Promise<void> {
  const rest = items[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (const item of rest) await task(item);
  };
  await Promise.all(Array.from({ length: width }, worker));
}

/** Splits the items into groups of at most `size` items. */
export const chunks = <A>(items: readonly A[], size: number): readonly (readonly A[])[] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, index) => items.slice(index * size, (index + 1) * size));
