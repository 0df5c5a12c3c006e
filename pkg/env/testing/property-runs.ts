/**
 * Returns with how many generated inputs a property test checks its rule: the environment variable `RUNS`, or `count`.
 * `make test-properties` sets `RUNS`.
 */
export const propertyRuns = (count: number): number => Number(process.env['RUNS'] ?? count);
