import { GetCallerIdentityCommand } from '@aws-sdk/client-sts';
import type { STSClient } from '@aws-sdk/client-sts';
import { AccountId } from '../../../api/names.ts';
import * as s from '../../../api/schema/field.ts';
import type { CallFactory } from '../call/call.ts';
import type { Call } from '../call/aws-call.ts';

const CallerIdentityResponse = s.view(s.object({ Account: s.text(AccountId) }), ({ Account }) => Account);

/** Creates the STS call that returns the AWS account of the client's credentials. */
export function getCallerAccount(client: STSClient, call: CallFactory): Call<AccountId> {
  return call({
    operation: 'GetCallerIdentity',
    kind: 'read',
    send: () => client.send(new GetCallerIdentityCommand({})),
    response: CallerIdentityResponse,
  });
}
