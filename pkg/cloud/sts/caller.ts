import { GetCallerIdentityCommand } from '@aws-sdk/client-sts';
import type { STSClient } from '@aws-sdk/client-sts';
import { AccountId } from '../../../api/names.ts';
import * as s from '../../../api/schema/field.ts';
import type { Calling } from '../call.ts';
import type { Call } from '../types.ts';

const CallerAnswer = s.view(s.object({ Account: s.text(AccountId) }), ({ Account }) => Account);

/** The account that the credentials belong to. */
export function callerAccount(client: STSClient, call: Calling): Call<AccountId> {
  return call({
    operation: 'GetCallerIdentity',
    kind: 'read',
    send: (options) => client.send(new GetCallerIdentityCommand({}), options),
    answer: CallerAnswer,
  });
}
