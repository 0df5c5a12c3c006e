import type { Context } from 'mocha';
import { BinariesMissing } from './binaries/binaries.ts';

/**
 * Returns a function for `Promise.catch` that skips the test if the error is a missing binary, and rethrows every other
 * error. A skipped test writes a message to stderr. A machine without Go may have only the binaries of the downloaded
 * envtest archive: etcd, kube-apiserver, and kubectl.
 *
 * Also removes the time limit of the test or hook, because the first test run on a machine downloads Go modules and
 * builds programs.
 */
export function skipIfBinariesMissing(test: Context): (error: unknown) => never {
  test.timeout(0);
  return (error) => {
    if (!(error instanceof BinariesMissing)) throw error;
    console.error(`SKIPPED "${test.test?.fullTitle()}": ${error.message}`);
    test.skip();
  };
}
