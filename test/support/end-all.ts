/**
 * Calls the cleanup functions one after the other. Continues when one of them fails, because a handle that a skipped
 * cleanup function leaves open fails the whole test run.
 * @throws the first error of a cleanup function, after all functions have been called
 */
export async function endAll(...cleanups: readonly (() => Promise<unknown>)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const cleanup of cleanups) {
    try {
      await cleanup();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
