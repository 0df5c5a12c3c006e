import type { Emulator } from '../../aws/emulator.ts';
import type { Calls } from './calls.ts';

/**
 * A duration of EKS operations that is longer than any test, in milliseconds. So an operation completes only when the
 * test completes it.
 */
export const HELD_MS = 3_600_000;

/**
 * The names of the AWS operations in `calls` that change AWS, in the order in which the calls arrived, e.g.
 * `DeleteRole`. Calls that AWS refused are included.
 */
export const operationsOf = (calls: Calls): readonly string[] => calls.mutations().map(({ operation }) => operation);

/**
 * Makes the next creation or deletion of a Fargate profile last until the test ends it with `admin.setProfile` or
 * `admin.removeProfile`. The test acts during the change, which on a busy machine could otherwise end before.
 * @returns the Fargate profile, as soon as EKS has accepted the change
 */
export function holdChange(
  aws: Emulator,
  verb: 'Create' | 'Delete',
  name: string,
): Promise<{ readonly cluster: string; readonly name: string }> {
  return new Promise((resolve) => {
    const forget = aws.onCall(({ operation, applied, identifiers }, phase) => {
      const isWanted = operation === `${verb}FargateProfile` && identifiers['fargateProfileName'] === name;
      if (phase !== 'after' || !applied || !isWanted) return;
      forget();
      const profile = { cluster: identifiers['clusterName'] ?? '', name };
      aws.admin.setProfile({ ...profile, status: verb === 'Create' ? 'CREATING' : 'DELETING' });
      resolve(profile);
    });
  });
}
