/** Returns how many inputs a property test generates. `make test-properties` sets `RUNS`. */
export const propertyRuns = (count: number): number => Number(process.env['RUNS'] ?? count);
