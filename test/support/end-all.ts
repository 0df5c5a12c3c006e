/**
 * Ends one thing after the other, each whatever came of those before it: what stays open keeps a whole run from its end.
 *
 * @throws what went wrong first, once all have been told
 */
export async function endAll(...endings: readonly (() => Promise<unknown>)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const end of endings) {
    try {
      await end();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
