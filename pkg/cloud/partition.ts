/** A part of AWS with accounts, endpoints and an IAM of its own. */
interface Partition {
  readonly name: string;
  /** The beginning of its regions' names. */
  readonly regions: RegExp;
  /** Where requests to its IAM, which is global, are signed for; one of its oldest regions. */
  readonly iamRegion: string;
}

const AWS: Partition = { name: 'aws', regions: /^/, iamRegion: 'us-east-1' };

/** `partitions.json` and the endpoint rules of IAM in the AWS SDKs. */
const OTHERS: readonly Partition[] = [
  { name: 'aws-cn', regions: /^cn-/, iamRegion: 'cn-north-1' },
  { name: 'aws-us-gov', regions: /^us-gov-/, iamRegion: 'us-gov-west-1' },
  { name: 'aws-iso', regions: /^us-iso-/, iamRegion: 'us-iso-east-1' },
  { name: 'aws-iso-b', regions: /^us-isob-/, iamRegion: 'us-isob-east-1' },
  { name: 'aws-iso-e', regions: /^eu-isoe-/, iamRegion: 'eu-isoe-west-1' },
  { name: 'aws-iso-f', regions: /^us-isof-/, iamRegion: 'us-isof-south-1' },
  { name: 'aws-eusc', regions: /^eusc-/, iamRegion: 'eusc-de-east-1' },
];

/** The partition of a region; regions nobody has heard of are in `aws`. */
export const partitionOf = (region: string): string => partition(region).name;

/** The region that requests to IAM are signed for, seen from a region of the same partition. */
export const iamRegionOf = (region: string): string => partition(region).iamRegion;

/** Where STS is asked for a session of a role: in `region`, unless the role is in another partition than that. */
export function stsRegionFor(roleArn: string, region: string | undefined): string {
  const named = roleArn.split(':')[1];
  if (region !== undefined && partitionOf(region) === named) return region;
  return (OTHERS.find(({ name }) => name === named) ?? AWS).iamRegion;
}

const partition = (region: string): Partition => OTHERS.find(({ regions }) => regions.test(region)) ?? AWS;
