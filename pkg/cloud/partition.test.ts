import { expect } from 'chai';
import { iamRegionOf, partitionOf } from './partition.ts';

describe('Partitions', () => {
  for (const [region, partition, iamRegion] of [
    ['eu-west-1', 'aws', 'us-east-1'],
    ['us-east-1', 'aws', 'us-east-1'],
    ['us-west-2', 'aws', 'us-east-1'],
    ['cn-northwest-1', 'aws-cn', 'cn-north-1'],
    ['us-gov-east-1', 'aws-us-gov', 'us-gov-west-1'],
    ['us-iso-west-1', 'aws-iso', 'us-iso-east-1'],
    ['us-isob-east-1', 'aws-iso-b', 'us-isob-east-1'],
    ['eusc-de-east-1', 'aws-eusc', 'eusc-de-east-1'],
    ['mars-north-1', 'aws', 'us-east-1'],
  ] as const) {
    it(`${region} is in ${partition}, whose IAM requests are signed for ${iamRegion}`, () => {
      expect(partitionOf(region)).to.equal(partition);
      expect(iamRegionOf(region)).to.equal(iamRegion);
    });
  }
});
