import { expect } from 'chai';
import { account, Bench, expectRefusal, fargateTrust } from './bench.ts';
import type { AwsError } from './errors.ts';
import type { Input } from './input.ts';

describe('EKS Fargate profiles', () => {
  let bench: Bench;
  const create = (input: Input): AwsError => bench.refused('eks', 'CreateFargateProfile', input);
  const remove = (name: string): Input => ({ clusterName: 'c', fargateProfileName: name });

  beforeEach(() => {
    bench = new Bench();
  });

  describe('life', () => {
    it('goes from CREATING to ACTIVE when its time has come, not before', () => {
      bench.run('eks', 'CreateFargateProfile', bench.profile('p'));
      bench.pass(1_999);
      expect(bench.status('p')).to.equal('CREATING');
      bench.pass(1);
      expect(bench.status('p')).to.equal('ACTIVE');
    });

    it('is DELETING, then gone', () => {
      bench.createActive('p');
      bench.run('eks', 'DeleteFargateProfile', remove('p'));
      expect(bench.status('p')).to.equal('DELETING');
      bench.pass(2_000);
      expectRefusal(
        bench.refused('eks', 'DescribeFargateProfile', remove('p')),
        'ResourceNotFoundException',
        404,
        'No Fargate Profile found with name: p.',
      );
    });

    it('draws its delay from a range, the same for the same seed', () => {
      const durations = [1, 2].map(() => {
        const drawn = new Bench({ eks: { createMs: [1_000, 9_000] } });
        drawn.run('eks', 'CreateFargateProfile', drawn.profile('p'));
        return (drawn.cluster.profiles.get('p')?.transition?.at ?? 0) - drawn.now;
      });
      expect(durations[0]).to.be.within(1_000, 9_000);
      expect(durations[0]).to.equal(durations[1]);
    });

    it('ends in CREATE_FAILED with its health issues when that is planned, and can be deleted then', () => {
      const issues = [{ code: 'AccessDenied', message: 'no', resourceIds: ['x'] }];
      bench.model.world.planFailure({ operation: 'create', profile: 'p', times: 1, issues });
      bench.run('eks', 'CreateFargateProfile', bench.profile('p'));
      bench.pass(2_000);
      const { fargateProfile } = bench.run('eks', 'DescribeFargateProfile', remove('p'));
      expect(fargateProfile).to.include({ status: 'CREATE_FAILED' });
      expect(fargateProfile).to.have.deep.property('health', { issues });
      bench.run('eks', 'DeleteFargateProfile', remove('p'));
      bench.pass(2_000);
      bench.createActive('p');
      expect(bench.status('p')).to.equal('ACTIVE');
    });

    it('ends in DELETE_FAILED when that is planned, and the next deletion succeeds', () => {
      bench.createActive('p');
      bench.model.world.planFailure({ operation: 'delete', times: 1, issues: [] });
      bench.run('eks', 'DeleteFargateProfile', remove('p'));
      bench.pass(2_000);
      expect(bench.status('p')).to.equal('DELETE_FAILED');
      bench.run('eks', 'DeleteFargateProfile', remove('p'));
      bench.pass(2_000);
      expect(bench.status('p')).to.equal(undefined);
    });

    it('fails with PodExecutionRoleAlreadyInUse when a node group has the role', () => {
      bench.cluster.nodegroupRoleArns = [`arn:aws:iam::${account}:role/pods`];
      bench.createActive('p');
      expect(bench.status('p')).to.equal('CREATE_FAILED');
      expect(bench.cluster.profiles.get('p')?.issues.map(({ code }) => code)).to.deep.equal([
        'PodExecutionRoleAlreadyInUse',
      ]);
    });
  });

  describe('one mutation per cluster', () => {
    it('refuses to create and to delete while a sibling is CREATING', () => {
      bench.createActive('old');
      bench.run('eks', 'CreateFargateProfile', bench.profile('busy'));
      expectRefusal(
        create(bench.profile('new')),
        'ResourceInUseException',
        409,
        'Cannot create Fargate Profile new because cluster c currently has Fargate profile busy in status CREATING',
      );
      expectRefusal(
        bench.refused('eks', 'DeleteFargateProfile', remove('old')),
        'ResourceInUseException',
        409,
        'Cannot Delete Fargate Profile old because cluster c currently has Fargate profile busy in status CREATING',
      );
      bench.pass(2_000);
      bench.run('eks', 'CreateFargateProfile', bench.profile('new'));
    });

    it('refuses to create while a sibling is DELETING', () => {
      bench.createActive('old');
      bench.run('eks', 'DeleteFargateProfile', remove('old'));
      expect(create(bench.profile('new')).message).to.equal(
        'Cannot create Fargate Profile new because cluster c currently has Fargate profile old in status DELETING',
      );
    });

    it('refuses to delete a profile that is itself CREATING', () => {
      bench.run('eks', 'CreateFargateProfile', bench.profile('p'));
      expect(bench.refused('eks', 'DeleteFargateProfile', remove('p')).code).to.equal('ResourceInUseException');
      expect(bench.status('p')).to.equal('CREATING');
    });

    it('does not lock another cluster', () => {
      bench.run('eks', 'CreateCluster', { name: 'd', resourcesVpcConfig: { subnetIds: ['subnet-a'] } });
      bench.run('iam', 'UpdateAssumeRolePolicy', {
        RoleName: 'pods',
        PolicyDocument: fargateTrust.replace('fargateprofile/c/', 'fargateprofile/*/'),
      });
      bench.pass(2_000);
      bench.run('eks', 'CreateFargateProfile', bench.profile('p'));
      bench.run('eks', 'CreateFargateProfile', bench.profile('p', { clusterName: 'd' }));
    });

    it('refuses with "an update in progress" in a window in which the status is ACTIVE', () => {
      bench.createActive('p');
      bench.cluster.updates = [{ until: bench.now + 30_000, refuses: ['create', 'delete'] }];
      expectRefusal(
        bench.refused('eks', 'DeleteFargateProfile', remove('p')),
        'ResourceInUseException',
        409,
        'Cannot Delete Fargate Profile p because cluster c currently has an update in progress',
      );
      expect(create(bench.profile('q')).message).to.equal(
        'Cannot create Fargate Profile q because cluster c currently has an update in progress',
      );
      expect(bench.cluster.status).to.equal('ACTIVE');
      bench.pass(30_000);
      bench.run('eks', 'DeleteFargateProfile', remove('p'));
    });

    it('opens such a window for deletions after a profile became ACTIVE, when told to', () => {
      bench = new Bench({ eks: { updateAfterActiveMs: 600_000 } });
      bench.createActive('p');
      expect(bench.refused('eks', 'DeleteFargateProfile', remove('p')).message).to.contain('an update in progress');
      bench.run('eks', 'CreateFargateProfile', bench.profile('q'));
      bench.pass(602_000);
      bench.run('eks', 'DeleteFargateProfile', remove('p'));
    });
  });

  describe('clientRequestToken', () => {
    it('answers the same request again with the profile it made', () => {
      const input = bench.profile('p', { clientRequestToken: 't' });
      const first = bench.run('eks', 'CreateFargateProfile', input);
      const again = bench.run('eks', 'CreateFargateProfile', input);
      expect(again).to.deep.equal(first);
      expect(bench.cluster.profiles.size).to.equal(1);
    });

    it('refuses the same token for another request', () => {
      bench.run('eks', 'CreateFargateProfile', bench.profile('p', { clientRequestToken: 't' }));
      const error = create(bench.profile('p', { clientRequestToken: 't', subnets: ['subnet-b'] }));
      expect(error.code).to.equal('InvalidParameterException');
    });

    it('is forgotten with the profile, unless told otherwise', () => {
      const input = bench.profile('p', { clientRequestToken: 't' });
      for (const outlives of [false, true]) {
        bench = new Bench({ eks: { tokenOutlivesProfile: outlives } });
        bench.run('eks', 'CreateFargateProfile', input);
        bench.pass(2_000);
        bench.run('eks', 'DeleteFargateProfile', remove('p'));
        bench.pass(2_000);
        bench.run('eks', 'CreateFargateProfile', input);
        expect(bench.status('p')).to.equal(outlives ? undefined : 'CREATING');
      }
    });
  });

  describe('reads', () => {
    it('list in pages that stay stable while profiles go', () => {
      bench = new Bench({ eks: { maxPageSize: 2 } });
      for (const name of ['d', 'a', 'c', 'b']) bench.createActive(name);
      const first = bench.run('eks', 'ListFargateProfiles', { clusterName: 'c', maxResults: 100 });
      expect(first['fargateProfileNames']).to.deep.equal(['a', 'b']);
      bench.run('eks', 'DeleteFargateProfile', remove('a'));
      bench.pass(2_000);
      const second = bench.run('eks', 'ListFargateProfiles', { clusterName: 'c', nextToken: first['nextToken'] });
      expect(second).to.deep.equal({ fargateProfileNames: ['c', 'd'] });
    });

    it('refuse a page size out of 1..100', () => {
      for (const maxResults of [0, 101]) {
        const error = bench.refused('eks', 'ListFargateProfiles', { clusterName: 'c', maxResults });
        expect(error.code).to.equal('InvalidParameterException');
      }
    });

    it('see a new profile late when told to, while a second create already finds it', () => {
      bench = new Bench({ eks: { describeAfterCreateMs: 500, listAfterCreateMs: 1_000 } });
      bench.run('eks', 'CreateFargateProfile', bench.profile('p'));
      expect(bench.refused('eks', 'DescribeFargateProfile', remove('p')).status).to.equal(404);
      expect(create(bench.profile('p')).code).to.equal('ResourceInUseException');
      bench.pass(500);
      bench.run('eks', 'DescribeFargateProfile', remove('p'));
      expect(bench.run('eks', 'ListFargateProfiles', { clusterName: 'c' })['fargateProfileNames']).to.deep.equal([]);
      bench.pass(500);
      expect(bench.run('eks', 'ListFargateProfiles', { clusterName: 'c' })['fargateProfileNames']).to.deep.equal(['p']);
    });
  });

  it('takes a denied principal with the words of AWS, naming the profile', () => {
    bench.createActive('p');
    bench.model.principals.deny({ principal: '*', action: 'eks:Delete*', explicit: true });
    const arn = bench.cluster.profiles.get('p')?.arn;
    expectRefusal(
      bench.refused('eks', 'DeleteFargateProfile', remove('p')),
      'AccessDeniedException',
      403,
      `User: ${bench.caller.arn} is not authorized to perform: eks:DeleteFargateProfile on resource: ${arn} with an explicit deny in an identity-based policy`,
    );
    bench.model.principals.allow();
    bench.run('eks', 'DeleteFargateProfile', remove('p'));
  });
});
