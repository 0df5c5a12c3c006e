import type { Context } from 'mocha';
import { BinariesMissing } from './binaries.ts';

/**
 * For `catch`: skips the test, loudly, where a binary beyond etcd, kube-apiserver and kubectl cannot be had. The official
 * envtest archive holds only those; the others need Go.
 */
export function skipWhereMissing(test: Context): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof BinariesMissing)) throw error;
    console.error(`SKIPPED "${test.test?.fullTitle()}": ${error.message}`);
    test.skip();
  };
}
