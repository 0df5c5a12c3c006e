import { expect } from 'chai';
import { decide } from './decide.ts';
import type { Observed } from './model.ts';
import type { Pass } from './pass.ts';
import { statusOf } from './report.ts';
import { why } from './reasons.ts';
import {
  ACCOUNT,
  EKS_CLUSTER,
  NOW,
  POD_EXECUTION_POLICY,
  aProfile,
  aRole,
  anObject,
  asWanted,
  desiredOf,
  observed,
} from './testing/builders.ts';

const FORMER_POLICY = 'arn:aws:iam::aws:policy/Former';

/** The pass in which an object is looked at, and nothing is changed. */
function lookAt(seen: Observed, object = anObject()): Pass {
  const desired = desiredOf(object);
  const decision = decide(desired, seen);
  if (decision.kind === 'do') throw new Error(`something is to be changed: ${decision.mutation.kind}`);
  const end = decision.kind === 'stop' ? { kind: 'stopped' as const, why: decision.why } : decision;
  return { object, desired, observed: seen, end, trail: [], now: NOW, waited: 0, attempts: 0 };
}

describe('statusOf', () => {
  it('says where the object is once EKS knows its cluster', () => {
    expect(statusOf(lookAt(asWanted()))).to.include({
      account: ACCOUNT,
      region: 'eu-west-1',
      eksClusterName: EKS_CLUSTER,
    });
  });

  it('does not tie an object to an account or region in which EKS does not know its cluster', () => {
    const status = statusOf(lookAt(observed({ cluster: 'gone' })));
    expect(status.conditions?.[0]).to.include({ type: 'Ready', status: 'False', reason: 'EKSClusterNotFound' });
    expect(status).not.to.have.any.keys('account', 'region', 'eksClusterName');
  });

  it('goes on knowing where an object was whose cluster is gone', () => {
    const { conditions: _, ...status } = statusOf(lookAt(asWanted()));
    expect(statusOf(lookAt(observed({ cluster: 'gone' }), anObject({ status })))).to.include({
      account: ACCOUNT,
      region: 'eu-west-1',
      eksClusterName: EKS_CLUSTER,
    });
  });

  it('keeps on record a policy of ours that is to go, until it is off', () => {
    const before = statusOf(lookAt(asWanted()));
    const given = { ...before, role: { ...before.role, attachedPolicies: [POD_EXECUTION_POLICY, FORMER_POLICY] } };
    const attachedAfter = (...attached: readonly string[]) =>
      statusOf({
        ...lookAt(asWanted(), anObject({ status: given })),
        observed: observed({ profile: aProfile(), role: aRole({ attached }) }),
        end: { kind: 'stopped', why: why('AWSUnavailable', { words: 'Rate exceeded' }) },
      }).role?.attachedPolicies;
    expect(attachedAfter(POD_EXECUTION_POLICY, FORMER_POLICY)).to.deep.equal([POD_EXECUTION_POLICY, FORMER_POLICY]);
    expect(attachedAfter(POD_EXECUTION_POLICY, 'theirs')).to.deep.equal([POD_EXECUTION_POLICY]);
  });
});
