import { expect } from 'chai';
import type { Condition, KubeObject } from '../envtest/api.ts';
import type { Statuses } from './testimony.ts';
import { Testimony, liesAboutDeletion } from './testimony.ts';

const at = (status: string): Statuses => new Map(status === 'gone' ? [] : [['p', status]]);
const AHEAD = 'EKS changes one Fargate profile of a cluster at a time; ahead of this one: "q" (being deleted)';

/** An object that is being deleted, of generation 2, and says so. */
function deleting(reason: string, message = '', others: Readonly<Record<string, string>> = {}): KubeObject {
  const said = { Ready: 'False', Reconciling: 'True', Stalled: 'False', Deleting: 'True', ...others };
  const conditions = Object.entries(said).map(([type, status]): Condition => ({
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

describe('what an object says of its deletion', () => {
  const lies = (object: KubeObject, ...sights: readonly Statuses[]): readonly string[] =>
    liesAboutDeletion(object, 'p', sights, sights);

  it('may be the truth', () => {
    expect(lies(deleting('DeletingProfile'), at('DELETING'))).to.deep.equal([]);
    expect(lies(deleting('DeletingProfile'), at('DELETING'), at('gone'))).to.deep.equal([]);
    expect(lies(deleting('WaitingForSibling', AHEAD), new Map([['q', 'DELETING']]))).to.deep.equal([]);
    const next = AHEAD.replace('being deleted', 'next in turn');
    expect(lies(deleting('WaitingForSibling', next), new Map([['q', 'ACTIVE']]))).to.deep.equal([]);
  });

  it('is of an earlier generation where the manager has not been there since', () => {
    const { metadata, ...rest } = deleting('Ready', '', { Ready: 'True', Deleting: 'False', Reconciling: 'False' });
    expect(lies({ ...rest, metadata: { ...metadata, generation: 3 } }, at('ACTIVE'))).to.deep.equal([]);
  });

  it('may be said right before EKS is asked, but not when there is nothing left to delete', () => {
    expect(lies(deleting('DeletingProfile'), at('ACTIVE'))).to.deep.equal([]);
    expect(lies(deleting('DeletingProfile'), at('gone'))).to.deep.equal(['its profile was gone already']);
  });

  it('is wrong where nobody is ahead', () => {
    const nothing = [`nothing such is ahead: ${AHEAD}`];
    expect(lies(deleting('WaitingForSibling', AHEAD), at('ACTIVE'))).to.deep.equal(nothing);
    expect(lies(deleting('WaitingForSibling', AHEAD), new Map([['q', 'CREATING']]))).to.deep.equal(nothing);
  });

  it('is wrong where the conditions do not fit', () => {
    const of = (others: Readonly<Record<string, string>>): readonly string[] =>
      lies(deleting('DeletingProfile', '', others), at('DELETING'));
    expect(of({ Deleting: 'False' })).to.deep.equal(['Deleting is False, and the object is being deleted']);
    expect(of({ Ready: 'True' })).to.deep.equal(['Ready is True in a deletion']);
    expect(of({ Stalled: 'True' })).to.deep.equal(['Stalled is True, and nobody has to act']);
    expect(of({ Reconciling: 'False' })).to.deep.equal(['Reconciling is False in a deletion']);
    expect(lies(deleting('AccessDenied', 'words'), at('ACTIVE'))).to.deep.equal([
      'the deletion waits for AccessDenied: words',
    ]);
  });

  it('is judged by what was there since the version before, and of others by what ever was', () => {
    const testimony = new Testimony('p');
    testimony.saw(at('DELETING'), {});
    testimony.told({ type: 'ADDED', object: deleting('DeletingProfile') }, {});
    testimony.saw(at('gone'), {});
    testimony.saw(at('gone'), {});
    const ahead = AHEAD.replace('"q"', '"p"');
    testimony.told({ type: 'MODIFIED', object: deleting('WaitingForSibling', ahead) }, {});
    expect(testimony.findings).to.deep.equal([]);
    testimony.told({ type: 'MODIFIED', object: deleting('WaitingForSibling', AHEAD) }, {});
    testimony.told({ type: 'MODIFIED', object: deleting('DeletingProfile') }, {});
    expect(testimony.findings).to.deep.equal([
      `version 7: nothing such is ahead: ${AHEAD}`,
      'version 7: its profile was gone already',
    ]);
  });
});
