import { expect } from 'chai';
import { isOlder, ownerOf, refusalOf } from './fargate-pods.ts';

const pod = (metadata: object) => ({
  metadata: { name: 'p', namespace: 'shop', uid: 'u', resourceVersion: '1', ...metadata },
});

const controlledBy = (kind: string, name: string, labels = {}) => {
  const owner = { apiVersion: 'apps/v1', kind, name, uid: 'o' };
  return pod({ labels, ownerReferences: [owner, { ...owner, controller: true }] });
};

describe('the owner of a pod', () => {
  it('is the Deployment of its ReplicaSet', () => {
    const owner = ownerOf(controlledBy('ReplicaSet', 'web-7d9c', { 'pod-template-hash': '7d9c' }));
    expect(owner).to.deep.equal({ kind: 'Deployment', name: 'web' });
  });

  for (const [what, owned, owner] of [
    ['a ReplicaSet of no Deployment', controlledBy('ReplicaSet', 'web'), { kind: 'ReplicaSet', name: 'web' }],
    [
      'a StatefulSet',
      controlledBy('StatefulSet', 'db', { 'pod-template-hash': 'x' }),
      { kind: 'StatefulSet', name: 'db' },
    ],
    ['nothing', pod({ ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'o' }] }), null],
  ] as const)
    it(`is ${what}`, () => {
      expect(ownerOf(owned)).to.deep.equal(owner);
    });
});

describe('what Fargate says about a pod', () => {
  const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: 'no GPU' }];
  for (const [what, status, said] of [
    ['the message of its condition', { phase: 'Pending', conditions }, 'no GPU'],
    ['nothing once it runs', { phase: 'Running', conditions }, undefined],
    ['nothing before Fargate has looked at it', { phase: 'Pending' }, undefined],
  ] as const)
    it(`is ${what}`, () => {
      expect(refusalOf(status)).to.equal(said);
    });
});

describe('the version of a node', () => {
  for (const [version, than, expected] of [
    ['v1.33.5-eks-ba24e9c', 'v1.34.1-eks-1', true],
    ['v1.9.0', 'v1.10.0', true],
    ['v1.34.0', 'v1.34.9', false],
    ['v1.35.0', 'v1.34.0', false],
    [undefined, 'v1.34.0', false],
    ['v1.34.0', undefined, false],
    ['unknown', 'v1.34.0', false],
  ] as const)
    it(`${version} is ${expected ? '' : 'not '}older than ${than}`, () => {
      expect(isOlder(version, than)).to.equal(expected);
    });
});
