import { expect } from 'chai';
import { RoleArn, RoleName } from '../../api/names.ts';
import { changeObserved } from './handle-outcome.ts';
import { ROLE_ARN } from './testing/builders.ts';
import { DELETE_ACCESS_ENTRY } from './testing/mutations.ts';
import { awsAsWanted, passStateFor } from './testing/pass-state.ts';

describe('changeObserved', () => {
  const FORMER_ARN = RoleArn.of('arn:aws:iam::111122223333:role/former');
  const copy = { principal: ROLE_ARN, mode: 'API', found: { type: 'FARGATE_LINUX', createdAt: 1 } } as const;
  const theirs = { ...copy, principal: FORMER_ARN };

  const copyAfter = (principal: RoleArn) => {
    const pass = passStateFor(awsAsWanted());
    pass.observed = { ...pass.observed, accessEntries: [copy, theirs] };
    pass.retry.update((state) => ({ ...state, accessEntry: { roleId: 'AROAEXAMPLE', entry: copy } }));
    const mutation = { ...DELETE_ACCESS_ENTRY, name: RoleName.of(principal.split('/').at(-1) ?? ''), principal };
    const gone = (entry: typeof copy | typeof theirs) =>
      entry.principal === principal ? { ...entry, found: undefined } : entry;
    changeObserved(pass, mutation, (observed) => ({ ...observed, accessEntries: [gone(copy), gone(theirs)] }));
    return pass.retry.state.accessEntry;
  };

  it('updates the copy of the access entry for later reconciles', () => {
    expect(copyAfter(ROLE_ARN)).to.deep.equal({ roleId: 'AROAEXAMPLE', entry: { ...copy, found: undefined } });
  });

  it('leaves the copy as it is after a change of the access entry of another role', () => {
    expect(copyAfter(FORMER_ARN)).to.deep.equal({ roleId: 'AROAEXAMPLE', entry: copy });
  });
});
