import { expect } from 'chai';
import { isStatusRead, isStatusTaken } from './status.ts';

const PLAN = 'controllers/awsfargateprofile/plan/plan.ts';

describe('the rule that status is a report', () => {
  it('refuses that a decision reads the status of an object', () => {
    expect(isStatusRead(PLAN, 'object', 'status')).to.equal(true);
    expect(isStatusTaken(PLAN, 'AWSFargateProfile', 'status')).to.equal(true);
  });

  it('allows the status of a Fargate profile in AWS, and other fields', () => {
    expect(isStatusRead(PLAN, 'found', 'status')).to.equal(false);
    expect(isStatusRead(PLAN, 'object', 'spec')).to.equal(false);
    expect(isStatusTaken(PLAN, 'FargateProfile', 'status')).to.equal(false);
  });

  for (const file of [
    'controllers/awsfargateprofile/report/status.ts',
    'controllers/awsfargateprofile/cluster-queue.ts',
    'controllers/shared/record.ts',
    'controllers/awsfargateprofile/plan/plan.test.ts',
    'controllers/awsfargateprofile/testing/builders.ts',
    'controllers/clusterteardown/reconcile.ts',
  ])
    it(`allows it in ${file}`, () => {
      expect(isStatusRead(file, 'object', 'status')).to.equal(false);
      expect(isStatusTaken(file, 'AWSFargateProfile', 'status')).to.equal(false);
    });
});
