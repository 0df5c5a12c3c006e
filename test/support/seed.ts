import fc from 'fast-check';

/**
 * The seed of all property tests, from the environment variable `SEED`. The same seed generates the same test cases.
 * `make test` sets a fixed seed, so that its result depends only on the code. `make test-properties` sets no seed, so
 * that each run generates new test cases.
 */
const seed = process.env['SEED'];
if (seed !== undefined && seed !== '') fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) });
