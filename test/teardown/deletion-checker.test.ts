import { expect } from 'chai';
import type { RawCondition, RawObject } from '../envtest/clients/api.ts';
import { type ProfileStatuses, DeletionChecker, findDeletionErrors } from './deletion-checker.ts';

const NOTHING = { profiles: [], roles: [] };
const at = (status: string): ProfileStatuses => new Map(status === 'gone' ? [] : [['p', status]]);
const WAITING_MESSAGE =
  'EKS changes only one Fargate profile of a cluster at a time, and Fargate profile "q" is being deleted. The controller waits, and then continues with the profile of this object on its own.';

/**
 * Returns an AWSFargateProfile of generation 2 that is being deleted. Its conditions have the statuses that are right
 * during a deletion. The map `others`, by condition type, replaces some of these statuses.
 */
function deleting(reason: string, message = '', others: Readonly<Record<string, string>> = {}): RawObject {
  const said = { Ready: 'False', Reconciling: 'True', Stalled: 'False', Deleting: 'True', ...others };
  const conditions = Object.entries(said).map(([type, status]): RawCondition => ({
    type,
    status,
    reason,
    message,
    observedGeneration: 2,
  }));
  return {
    apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta2',
    kind: 'AWSFargateProfile',
    metadata: {
      name: 'web',
      uid: 'uid',
      generation: 2,
      resourceVersion: '7',
      creationTimestamp: '2026-11-21T00:00:00Z',
      deletionTimestamp: '2026-11-21T00:01:00Z',
    },
    status: { conditions },
  };
}

describe('the deletion checker', () => {
  const errors = (object: RawObject, ...snapshots: readonly ProfileStatuses[]): readonly string[] =>
    findDeletionErrors(object, 'p', snapshots, snapshots);

  it('accepts conditions that agree with AWS', () => {
    expect(errors(deleting('DeletingProfile'), at('DELETING'))).to.deep.equal([]);
    expect(errors(deleting('DeletingProfile'), at('DELETING'), at('gone'))).to.deep.equal([]);
    expect(errors(deleting('WaitingForSibling', WAITING_MESSAGE), new Map([['q', 'DELETING']]))).to.deep.equal([]);
    const next = WAITING_MESSAGE.replace('being deleted', 'next in turn');
    expect(errors(deleting('WaitingForSibling', next), new Map([['q', 'ACTIVE']]))).to.deep.equal([]);
  });

  it('accepts conditions of an older generation', () => {
    const { metadata, ...rest } = deleting('Ready', '', { Ready: 'True', Deleting: 'False', Reconciling: 'False' });
    expect(errors({ ...rest, metadata: { ...metadata, generation: 3 } }, at('ACTIVE'))).to.deep.equal([]);
  });

  it('accepts DeletingProfile just before the delete call, but not after the profile is gone', () => {
    expect(errors(deleting('DeletingProfile'), at('ACTIVE'))).to.deep.equal([]);
    expect(errors(deleting('DeletingProfile'), at('gone'))).to.deep.equal(['its profile was already deleted']);
  });

  it('reports WaitingForSibling without a sibling ahead', () => {
    const nothing = [`no such profile is ahead: ${WAITING_MESSAGE}`];
    expect(errors(deleting('WaitingForSibling', WAITING_MESSAGE), at('ACTIVE'))).to.deep.equal(nothing);
    expect(errors(deleting('WaitingForSibling', WAITING_MESSAGE), new Map([['q', 'CREATING']]))).to.deep.equal(nothing);
  });

  it('reports contradictory conditions', () => {
    const of = (others: Readonly<Record<string, string>>): readonly string[] =>
      errors(deleting('DeletingProfile', '', others), at('DELETING'));
    expect(of({ Deleting: 'False' })).to.deep.equal(['Deleting is False, but the object is being deleted']);
    expect(of({ Ready: 'True' })).to.deep.equal(['Ready is True during a deletion']);
    expect(of({ Stalled: 'True' })).to.deep.equal(['Stalled is True, but no user action is needed']);
    expect(of({ Reconciling: 'False' })).to.deep.equal(['Reconciling is False during a deletion']);
    expect(errors(deleting('AccessDenied', 'words'), at('ACTIVE'))).to.deep.equal([
      'the deletion waits for AccessDenied: words',
    ]);
  });

  it('compares the own profile with AWS since the previous version, and siblings with any earlier state', () => {
    const checker = new DeletionChecker('p');
    checker.recordAws(at('DELETING'), NOTHING);
    checker.checkVersion({ type: 'ADDED', object: deleting('DeletingProfile') }, NOTHING);
    checker.recordAws(at('gone'), NOTHING);
    checker.recordAws(at('gone'), NOTHING);
    const ahead = WAITING_MESSAGE.replace('"q"', '"p"');
    checker.checkVersion({ type: 'MODIFIED', object: deleting('WaitingForSibling', ahead) }, NOTHING);
    expect(checker.violations).to.deep.equal([]);
    checker.checkVersion({ type: 'MODIFIED', object: deleting('WaitingForSibling', WAITING_MESSAGE) }, NOTHING);
    checker.checkVersion({ type: 'MODIFIED', object: deleting('DeletingProfile') }, NOTHING);
    expect(checker.violations).to.deep.equal([
      `version 7: no such profile is ahead: ${WAITING_MESSAGE}`,
      'version 7: its profile was already deleted',
    ]);
  });
});
