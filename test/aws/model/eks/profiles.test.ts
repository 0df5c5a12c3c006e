import { expect } from 'chai';
import { ModelFixture, expectRefusal, fargateTrust } from '../model-fixture.ts';
import type { AwsError } from '../errors.ts';
import type { Input } from '../input.ts';

describe('EKS Fargate profiles', () => {
  let fixture: ModelFixture;
  const create = (input: Input): AwsError => fixture.refused('eks', 'CreateFargateProfile', input);
  const remove = (name: string): Input => ({ clusterName: 'c', fargateProfileName: name });

  beforeEach(() => {
    fixture = new ModelFixture();
  });

  describe('lifecycle', () => {
    it('changes from CREATING to ACTIVE after its delay', () => {
      fixture.run('eks', 'CreateFargateProfile', fixture.profileInput('p'));
      fixture.advance(1_999);
      expect(fixture.status('p')).to.equal('CREATING');
      fixture.advance(1);
      expect(fixture.status('p')).to.equal('ACTIVE');
    });

    it('changes to DELETING and then does not exist', () => {
      fixture.createActive('p');
      fixture.run('eks', 'DeleteFargateProfile', remove('p'));
      expect(fixture.status('p')).to.equal('DELETING');
      fixture.advance(2_000);
      expect(fixture.status('p')).to.equal(undefined);
    });

    it('ends in a planned CREATE_FAILED with health issues, and can be deleted', () => {
      const issues = [{ code: 'AccessDenied', message: 'no', resourceIds: ['x'] }];
      fixture.model.state.plannedFailures.add({ operation: 'create', times: 1, issues });
      fixture.run('eks', 'CreateFargateProfile', fixture.profileInput('p'));
      fixture.advance(2_000);
      const { fargateProfile } = fixture.run('eks', 'DescribeFargateProfile', remove('p'));
      expect(fargateProfile).to.include({ status: 'CREATE_FAILED' });
      expect(fargateProfile).to.have.deep.property('health', { issues });
      fixture.run('eks', 'DeleteFargateProfile', remove('p'));
      fixture.advance(2_000);
      fixture.createActive('p');
      expect(fixture.status('p')).to.equal('ACTIVE');
    });

    it('ends in a planned DELETE_FAILED, and the next deletion succeeds', () => {
      fixture.createActive('p');
      fixture.model.state.plannedFailures.add({ operation: 'delete', times: 1, issues: [] });
      fixture.run('eks', 'DeleteFargateProfile', remove('p'));
      fixture.advance(2_000);
      expect(fixture.status('p')).to.equal('DELETE_FAILED');
      fixture.run('eks', 'DeleteFargateProfile', remove('p'));
      fixture.advance(2_000);
      expect(fixture.status('p')).to.equal(undefined);
    });
  });

  describe('one mutation per cluster', () => {
    it('refuses to create and to delete while a sibling is CREATING', () => {
      fixture.createActive('old');
      fixture.run('eks', 'CreateFargateProfile', fixture.profileInput('busy'));
      expectRefusal(
        create(fixture.profileInput('new')),
        'ResourceInUseException',
        409,
        'Cannot create Fargate Profile new because cluster c currently has Fargate profile busy in status CREATING',
      );
      expectRefusal(
        fixture.refused('eks', 'DeleteFargateProfile', remove('old')),
        'ResourceInUseException',
        409,
        'Cannot Delete Fargate Profile old because cluster c currently has Fargate profile busy in status CREATING',
      );
      fixture.advance(2_000);
      fixture.run('eks', 'CreateFargateProfile', fixture.profileInput('new'));
    });

    it('refuses to create while a sibling is DELETING', () => {
      fixture.createActive('old');
      fixture.run('eks', 'DeleteFargateProfile', remove('old'));
      expect(create(fixture.profileInput('new')).message).to.equal(
        'Cannot create Fargate Profile new because cluster c currently has Fargate profile old in status DELETING',
      );
    });

    it('refuses to delete a profile that is itself CREATING', () => {
      fixture.run('eks', 'CreateFargateProfile', fixture.profileInput('p'));
      expect(fixture.refused('eks', 'DeleteFargateProfile', remove('p')).code).to.equal('ResourceInUseException');
      expect(fixture.status('p')).to.equal('CREATING');
    });

    it('does not affect another cluster', () => {
      fixture.addCluster('d', ['subnet-a']);
      fixture.run('iam', 'UpdateAssumeRolePolicy', {
        RoleName: 'pods',
        PolicyDocument: fargateTrust.replace('fargateprofile/c/', 'fargateprofile/*/'),
      });
      fixture.run('eks', 'CreateFargateProfile', fixture.profileInput('p'));
      fixture.run('eks', 'CreateFargateProfile', fixture.profileInput('p', { clusterName: 'd' }));
    });

    it('refuses with "an update in progress" while the cluster status is ACTIVE', () => {
      fixture.createActive('p');
      fixture.cluster.updates = [{ until: fixture.now + 30_000, refuses: ['create', 'delete'] }];
      expectRefusal(
        fixture.refused('eks', 'DeleteFargateProfile', remove('p')),
        'ResourceInUseException',
        409,
        'Cannot Delete Fargate Profile p because cluster c currently has an update in progress',
      );
      expect(create(fixture.profileInput('q')).message).to.equal(
        'Cannot create Fargate Profile q because cluster c currently has an update in progress',
      );
      expect(fixture.cluster.status).to.equal('ACTIVE');
      fixture.advance(30_000);
      fixture.run('eks', 'DeleteFargateProfile', remove('p'));
    });
  });

  describe('clientRequestToken', () => {
    it('returns the same profile for a repeated request', () => {
      const input = fixture.profileInput('p', { clientRequestToken: 't' });
      const first = fixture.run('eks', 'CreateFargateProfile', input);
      const again = fixture.run('eks', 'CreateFargateProfile', input);
      expect(again).to.deep.equal(first);
      expect(fixture.cluster.profiles.size).to.equal(1);
    });

    it('refuses the token for another request', () => {
      fixture.run('eks', 'CreateFargateProfile', fixture.profileInput('p', { clientRequestToken: 't' }));
      const error = create(fixture.profileInput('p', { clientRequestToken: 't', subnets: ['subnet-b'] }));
      expect(error.code).to.equal('InvalidParameterException');
    });

    it('is forgotten with the profile', () => {
      const input = fixture.profileInput('p', { clientRequestToken: 't' });
      fixture.run('eks', 'CreateFargateProfile', input);
      fixture.advance(2_000);
      fixture.run('eks', 'DeleteFargateProfile', remove('p'));
      fixture.advance(2_000);
      fixture.run('eks', 'CreateFargateProfile', input);
      expect(fixture.status('p')).to.equal('CREATING');
    });
  });

  describe('reads', () => {
    it('have stable pages during deletions', () => {
      for (const name of ['d', 'a', 'c', 'b']) fixture.createActive(name);
      const first = fixture.run('eks', 'ListFargateProfiles', { clusterName: 'c', maxResults: 2 });
      expect(first['fargateProfileNames']).to.deep.equal(['a', 'b']);
      fixture.run('eks', 'DeleteFargateProfile', remove('a'));
      fixture.advance(2_000);
      const second = fixture.run('eks', 'ListFargateProfiles', { clusterName: 'c', nextToken: first['nextToken'] });
      expect(second).to.deep.equal({ fargateProfileNames: ['c', 'd'] });
    });

    it('refuse a page size out of 1..100', () => {
      for (const maxResults of [0, 101]) {
        const error = fixture.refused('eks', 'ListFargateProfiles', { clusterName: 'c', maxResults });
        expect(error.code).to.equal('InvalidParameterException');
      }
    });

    it('show a new profile late if configured, while a second create conflicts', () => {
      fixture = new ModelFixture({ eks: { describeAfterCreateMs: 500, listAfterCreateMs: 1_000 } });
      fixture.run('eks', 'CreateFargateProfile', fixture.profileInput('p'));
      expect(fixture.refused('eks', 'DescribeFargateProfile', remove('p')).status).to.equal(404);
      expect(create(fixture.profileInput('p')).code).to.equal('ResourceInUseException');
      fixture.advance(500);
      fixture.run('eks', 'DescribeFargateProfile', remove('p'));
      expect(fixture.run('eks', 'ListFargateProfiles', { clusterName: 'c' })['fargateProfileNames']).to.deep.equal([]);
      fixture.advance(500);
      expect(fixture.run('eks', 'ListFargateProfiles', { clusterName: 'c' })['fargateProfileNames']).to.deep.equal([
        'p',
      ]);
    });
  });

  it('refuses a denied principal with the message of AWS', () => {
    fixture.createActive('p');
    fixture.model.principals.deny({ principal: '*', action: 'eks:Delete*', explicit: true });
    const arn = fixture.cluster.profiles.get('p')?.arn;
    expectRefusal(
      fixture.refused('eks', 'DeleteFargateProfile', remove('p')),
      'AccessDeniedException',
      403,
      `User: ${fixture.caller.arn} is not authorized to perform: eks:DeleteFargateProfile on resource: ${arn} with an explicit deny in an identity-based policy`,
    );
    fixture.model.principals.allow();
    fixture.run('eks', 'DeleteFargateProfile', remove('p'));
  });
});
