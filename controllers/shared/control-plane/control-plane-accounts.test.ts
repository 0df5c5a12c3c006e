import { expect } from 'chai';
import * as E from 'fp-ts/lib/Either.js';
import { MemoryLogger } from 'controller-runtime/testing';
import { AccountId } from '../../../api/names.ts';
import type { Session, SessionRequest, CredentialsProblem } from '../../../pkg/cloud/index.ts';
import { aControlPlane } from '../../awsfargateprofile/testing/builders.ts';
import { ControlPlaneAccounts } from './control-plane-accounts.ts';

const ACCOUNT = AccountId.of('123456789012');
const NO_CREDENTIALS: CredentialsProblem = { reason: 'CredentialsMissing', message: 'none' };
const identityRef = { kind: 'AWSClusterStaticIdentity', name: 'team-a' };
const context = { signal: new AbortController().signal, logger: new MemoryLogger() };

describe('ControlPlaneAccounts', () => {
  let answer: Session | CredentialsProblem;
  let requests: SessionRequest[];
  let accounts: ControlPlaneAccounts;
  beforeEach(() => {
    answer = { account: ACCOUNT } as Session;
    requests = [];
    accounts = new ControlPlaneAccounts({
      open: async (request) => {
        requests.push(request);
        return 'reason' in answer ? E.left(answer) : E.right(answer);
      },
    });
  });

  it('learns the account with the identity of the control plane, for its namespace', async () => {
    const controlPlane = aControlPlane({ identityRef });
    expect(accounts.accountOf(controlPlane)).to.equal(undefined);
    await accounts.learn(controlPlane, context);
    expect(accounts.accountOf(controlPlane)).to.equal(ACCOUNT);
    const { namespace } = controlPlane.metadata;
    expect(requests.map(({ identity, namespace: used }) => [identity, used])).to.deep.equal([[identityRef, namespace]]);
    expect(requests[0]?.mutationBudget()).to.equal(0);
  });

  it('does not know the account of another identity', async () => {
    await accounts.learn(aControlPlane({ identityRef }), context);
    expect(accounts.accountOf(aControlPlane({}))).to.equal(undefined);
    expect(accounts.accountOf(aControlPlane({ identityRef: { ...identityRef, name: 'team-b' } }))).to.equal(undefined);
  });

  it('keeps the last account while there are no credentials, and takes the next one after that', async () => {
    const controlPlane = aControlPlane({ identityRef });
    await accounts.learn(controlPlane, context);
    answer = NO_CREDENTIALS;
    await accounts.learn(controlPlane, context);
    expect(accounts.accountOf(controlPlane)).to.equal(ACCOUNT);
    answer = { account: AccountId.of('210987654321') } as Session;
    await accounts.learn(controlPlane, context);
    expect(accounts.accountOf(controlPlane)).to.equal('210987654321');
  });

  it('does not ask for a control plane without a region', async () => {
    const { region: _none, ...controlPlane } = aControlPlane({ identityRef });
    await accounts.learn(controlPlane, context);
    expect(requests).to.deep.equal([]);
  });
});
