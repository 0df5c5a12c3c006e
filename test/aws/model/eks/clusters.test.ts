import { expect } from 'chai';
import { account, ModelFixture, region } from '../model-fixture.ts';

describe('EKS clusters and tags', () => {
  let fixture: ModelFixture;

  beforeEach(() => {
    fixture = new ModelFixture();
  });

  it('are deleted only without profiles', () => {
    fixture.createActive('p');
    const error = fixture.refused('eks', 'DeleteCluster', { name: 'c' });
    expect([error.code, error.status, error.message]).to.deep.equal([
      'ResourceInUseException',
      409,
      'Cluster has Fargate Profiles in ACTIVE/CREATING state',
    ]);
    fixture.run('eks', 'DeleteFargateProfile', { clusterName: 'c', fargateProfileName: 'p' });
    fixture.advance(2_000);
    fixture.run('eks', 'DeleteCluster', { name: 'c' });
    expect(fixture.cluster.status).to.equal('DELETING');
    fixture.advance(2_000);
    expect(fixture.refused('eks', 'DescribeCluster', { name: 'c' }).message).to.equal('No cluster found for name: c.');
  });

  it('refuse their deletion during an update', () => {
    fixture.cluster.updates = [{ until: fixture.now + 1_000, refuses: ['deleteCluster'] }];
    expect(fixture.refused('eks', 'DeleteCluster', { name: 'c' }).code).to.equal('ResourceInUseException');
    fixture.advance(1_000);
    fixture.run('eks', 'DeleteCluster', { name: 'c' });
  });

  it('refuse their deletion while deletion protection is on', () => {
    const shown = () => fixture.run('eks', 'DescribeCluster', { name: 'c' })['cluster'];
    expect(shown()).to.include({ deletionProtection: false });
    fixture.cluster.deletionProtection = true;
    expect(shown()).to.include({ deletionProtection: true });
    const { code, status } = fixture.refused('eks', 'DeleteCluster', { name: 'c' });
    expect([code, status]).to.deep.equal(['InvalidRequestException', 400]);
    fixture.cluster.deletionProtection = 'absent';
    expect(shown()).to.not.have.property('deletionProtection');
    fixture.run('eks', 'DeleteCluster', { name: 'c' });
  });

  it('are tagged and untagged by ARN, with the error types of the tag operations', () => {
    fixture.createActive('p');
    const resourceArn = fixture.cluster.profiles.get('p')?.arn ?? '';
    fixture.run('eks', 'TagResource', { resourceArn, tags: { a: '1', b: '2' } });
    fixture.run('eks', 'UntagResource', { resourceArn, tagKeys: ['a', 'not-there'] });
    expect(fixture.cluster.profiles.get('p')?.tags).to.deep.equal({ b: '2' });

    const unknown = `arn:aws:eks:${region}:${account}:fargateprofile/c/p/other`;
    const missing = fixture.refused('eks', 'TagResource', { resourceArn: unknown, tags: { a: '1' } });
    expect([missing.code, missing.status]).to.deep.equal(['NotFoundException', 404]);
    const malformed = fixture.refused('eks', 'TagResource', { resourceArn: 'nonsense' });
    expect([malformed.code, malformed.status]).to.deep.equal(['BadRequestException', 400]);
  });

  it('have tags with letters, digits, and spaces of any language', () => {
    const resourceArn = fixture.cluster.arn;
    const tags = { owner: 'Équipe Données', 所有者: '平台 ٣', ['𝒳'.repeat(128)]: '𝒳'.repeat(256) };
    fixture.run('eks', 'TagResource', { resourceArn, tags });
    expect(fixture.cluster.tags).to.deep.include(tags);
    for (const value of ['a;b', 'a\tb', '🙂']) {
      expect(fixture.refused('eks', 'TagResource', { resourceArn, tags: { value } }).code).to.equal(
        'BadRequestException',
      );
    }
  });

  it('have at most 50 tags, without reserved keys', () => {
    const resourceArn = fixture.cluster.arn;
    const fifty = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`k${index}`, '']));
    fixture.run('eks', 'TagResource', { resourceArn, tags: fifty });
    for (const tags of [{ more: '' }, { 'aws:a': '' }, { ['k'.repeat(129)]: '' }, { k0: 'v'.repeat(257) }]) {
      expect(fixture.refused('eks', 'TagResource', { resourceArn, tags }).code).to.equal('BadRequestException');
    }
    expect(fixture.cluster.tags).to.deep.equal(fifty);
  });
});
