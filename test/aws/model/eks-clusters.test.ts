import { expect } from 'chai';
import { account, Bench, region } from './bench.ts';

describe('EKS clusters and tags', () => {
  let bench: Bench;

  beforeEach(() => {
    bench = new Bench();
  });

  it('become ACTIVE, and go only when they have no profiles', () => {
    bench.createActive('p');
    const error = bench.refused('eks', 'DeleteCluster', { name: 'c' });
    expect([error.code, error.status, error.message]).to.deep.equal([
      'ResourceInUseException',
      409,
      'Cluster has Fargate Profiles in ACTIVE/CREATING state',
    ]);
    bench.run('eks', 'DeleteFargateProfile', { clusterName: 'c', fargateProfileName: 'p' });
    bench.pass(2_000);
    bench.run('eks', 'DeleteCluster', { name: 'c' });
    expect(bench.cluster.status).to.equal('DELETING');
    bench.pass(2_000);
    expect(bench.refused('eks', 'DescribeCluster', { name: 'c' }).message).to.equal('No cluster found for name: c.');
  });

  it('refuse their deletion in an update window', () => {
    bench.cluster.updates = [{ until: bench.now + 1_000, refuses: ['deleteCluster'] }];
    expect(bench.refused('eks', 'DeleteCluster', { name: 'c' }).code).to.equal('ResourceInUseException');
    bench.pass(1_000);
    bench.run('eks', 'DeleteCluster', { name: 'c' });
  });

  it('are tagged, untagged and listed by ARN, with the error types of the tag operations', () => {
    bench.createActive('p');
    const resourceArn = bench.cluster.profiles.get('p')?.arn ?? '';
    bench.run('eks', 'TagResource', { resourceArn, tags: { a: '1', b: '2' } });
    bench.run('eks', 'UntagResource', { resourceArn, tagKeys: ['a', 'not-there'] });
    expect(bench.run('eks', 'ListTagsForResource', { resourceArn })).to.deep.equal({ tags: { b: '2' } });

    const unknown = `arn:aws:eks:${region}:${account}:fargateprofile/c/p/other`;
    const missing = bench.refused('eks', 'TagResource', { resourceArn: unknown, tags: { a: '1' } });
    expect([missing.code, missing.status]).to.deep.equal(['NotFoundException', 404]);
    const malformed = bench.refused('eks', 'ListTagsForResource', { resourceArn: 'nonsense' });
    expect([malformed.code, malformed.status]).to.deep.equal(['BadRequestException', 400]);
  });

  it('hold at most 50 tags, of which none may be reserved', () => {
    const resourceArn = bench.cluster.arn;
    const fifty = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`k${index}`, '']));
    bench.run('eks', 'TagResource', { resourceArn, tags: fifty });
    for (const tags of [{ more: '' }, { 'aws:a': '' }, { ['k'.repeat(129)]: '' }, { k0: 'v'.repeat(257) }]) {
      expect(bench.refused('eks', 'TagResource', { resourceArn, tags }).code).to.equal('BadRequestException');
    }
    expect(bench.cluster.tags).to.deep.equal(fifty);
  });

  it('are kept apart by account and region', () => {
    const stranger = bench.key('stranger', '999999999999');
    expect(bench.refused('eks', 'DescribeCluster', { name: 'c' }, stranger).code).to.equal('ResourceNotFoundException');
    const elsewhere = bench.model.execute({
      service: 'eks',
      operation: 'DescribeCluster',
      input: { name: 'c' },
      principal: bench.caller,
      region: 'us-east-1',
      now: bench.now,
    });
    expect(elsewhere.kind).to.equal('error');
  });
});
