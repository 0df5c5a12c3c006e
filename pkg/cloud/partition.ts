interface Partition {
  readonly name: string;
  readonly regions: RegExp;
  readonly iamRegion: string;
}

const AWS: Partition = { name: 'aws', regions: /^/, iamRegion: 'us-east-1' };

/** All AWS partitions except `aws`. Source: `partitions.json` and IAM's endpoint rules in the AWS SDKs. */
const OTHER_PARTITIONS: readonly Partition[] = [
  { name: 'aws-cn', regions: /^cn-/, iamRegion: 'cn-north-1' },
  { name: 'aws-us-gov', regions: /^us-gov-/, iamRegion: 'us-gov-west-1' },
  { name: 'aws-iso', regions: /^us-iso-/, iamRegion: 'us-iso-east-1' },
  { name: 'aws-iso-b', regions: /^us-isob-/, iamRegion: 'us-isob-east-1' },
  { name: 'aws-iso-e', regions: /^eu-isoe-/, iamRegion: 'eu-isoe-west-1' },
  { name: 'aws-iso-f', regions: /^us-isof-/, iamRegion: 'us-isof-south-1' },
  { name: 'aws-eusc', regions: /^eusc-/, iamRegion: 'eusc-de-east-1' },
];

/** Returns `aws` for an unknown region. */
export const partitionOf = (region: string): string => findPartition(region).name;

export const iamRegionOf = (region: string): string => findPartition(region).iamRegion;

/** Returns `region` if it is in the partition, otherwise the partition's IAM region. */
export function stsRegionOf(partition: string, region: string | undefined): string {
  if (region !== undefined && partitionOf(region) === partition) return region;
  return (OTHER_PARTITIONS.find(({ name }) => name === partition) ?? AWS).iamRegion;
}

/** Returns `aws` if the text is not an ARN. */
export const partitionOfArn = (arn: string): string => arn.split(':')[1] || AWS.name;

/** A lower-case label of a host name. The AWS SDKs refuse most other names before they send a request. */
const REGION_NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

export const isRegionName = (region: string): boolean => REGION_NAME.test(region);

const findPartition = (region: string): Partition =>
  OTHER_PARTITIONS.find(({ regions }) => regions.test(region)) ?? AWS;
