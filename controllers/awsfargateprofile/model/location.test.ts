import { expect } from 'chai';
import { type AWSFargateProfileStatus, PROVISIONED_IN_ANNOTATION } from '../../../api/v1beta2/index.ts';
import { type ObjectParts, ACCOUNT, EKS_CLUSTER, HERE, RECORDED, anObject } from '../testing/builders.ts';
import { locationOf } from './location.ts';

const withRecords = (value: string | undefined, status?: AWSFargateProfileStatus): ObjectParts => ({
  metadata: { annotations: value === undefined ? {} : { [PROVISIONED_IN_ANNOTATION]: value } },
  ...(status && { status }),
});

describe('locationOf', () => {
  const known = { kind: 'known', account: ACCOUNT, region: 'eu-west-1', eksCluster: EKS_CLUSTER };
  for (const [what, parts, expected] of [
    ['reads status', withRecords(undefined, RECORDED), known],
    ['reads the annotation if a move has dropped status', withRecords(HERE), known],
    [
      'prefers status over the annotation, which every editor of the object can change',
      withRecords('1/r/c', RECORDED),
      known,
    ],
    ['prefers status over "nowhere" in the annotation', withRecords('nowhere', RECORDED), known],
    ['ignores an incomplete status', withRecords(HERE, { region: 'eu-north-1' }), known],
    ['reads "nowhere"', withRecords('nowhere'), { kind: 'none' }],
    ['is unknown without status and annotation', withRecords(undefined), { kind: 'unknown' }],
    ['is unknown with an empty annotation', withRecords(''), { kind: 'unknown' }],
    ['is unknown with an annotation of another form', withRecords('true'), { kind: 'unknown' }],
    ['is unknown with an annotation that lacks a part', withRecords(`${ACCOUNT}//${EKS_CLUSTER}`), { kind: 'unknown' }],
    ['is unknown with an account that is none', withRecords(`12345/eu-west-1/${EKS_CLUSTER}`), { kind: 'unknown' }],
    ['is unknown with a region that is none', withRecords(`${ACCOUNT}/eu west/${EKS_CLUSTER}`), { kind: 'unknown' }],
    [
      'is unknown with a name that EKS does not allow',
      withRecords(`${ACCOUNT}/eu-west-1/${'c'.repeat(101)}`),
      { kind: 'unknown' },
    ],
    ['is unknown with a line feed at the end', withRecords(`${HERE}\n`), { kind: 'unknown' }],
    ['is unknown with an annotation that has a part too many', withRecords(`${HERE}/x`), { kind: 'unknown' }],
  ] as const)
    it(what, () => expect(locationOf(anObject(parts))).to.deep.equal(expected));
});
