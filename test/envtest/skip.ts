import type { Context } from 'mocha';
import { BinariesMissing } from './binaries/binaries.ts';

/**
 * Returns a function for `Promise.catch`. If the error is that a binary is missing, the function skips the test and
 * writes a message to stderr, otherwise it throws the error. Binaries other than etcd, kube-apiserver and kubectl are
 * not in the envtest archive and need Go.
 */
export function skipIfBinariesMissing(test: Context): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof BinariesMissing)) throw error;
    console.error(`SKIPPED "${test.test?.fullTitle()}": ${error.message}`);
    test.skip();
  };
}
