import fc from 'fast-check';

/**
 * The seed of all property tests, from the environment variable `SEED`. With the same seed, they generate the same
 * cases. `make test` sets it, so that a change passes or fails by its own merit. `make test-properties` looks for new
 * cases.
 */
const seed = process.env['SEED'];
if (seed !== undefined && seed !== '') fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) });
