import { expect } from 'chai';
import type { AwsView } from './admin.ts';

/**
 * Lists the Fargate profiles, roles and access entries that the manager has created and not deleted. The list leaves out
 * resources that are marked as `foreign`, because tests or other AWS users own them. An access entry that EKS has made
 * for a role of the manager counts as a resource of the manager.
 */
export function leftovers(aws: AwsView): readonly string[] {
  return [
    ...aws.profiles.filter(({ foreign }) => !foreign).map(({ arn, status }) => `${arn} ${status}`),
    ...aws.roles.filter(({ foreign }) => !foreign).map(({ arn }) => arn),
    ...aws.accessEntries.filter(({ foreign }) => !foreign).map(({ arn }) => arn),
  ];
}

/**
 * Expects that the manager has left no resource in the emulated AWS, and that no role was deleted while a Fargate
 * profile still used the role. `admin` has the admin functions of the AWS emulator, in the same process or over HTTP.
 */
export async function expectNothingLeft(admin: { readonly snapshot: () => AwsView | Promise<AwsView> }): Promise<void> {
  const aws = await admin.snapshot();
  expect(leftovers(aws), 'left in AWS').to.deep.equal([]);
  expect(aws.incidents, 'safety incidents').to.deep.equal([]);
}
