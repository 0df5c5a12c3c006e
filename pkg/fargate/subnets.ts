/** A subnet in `spec.network.subnets` of an AWSManagedControlPlane. */
export interface NetworkSubnet {
  readonly id?: string | undefined;
  readonly resourceID?: string | undefined;
  readonly isPublic?: boolean | undefined;
  readonly zoneType?: string | undefined;
  readonly tags?: Readonly<Record<string, string>> | undefined;
}

const AWS_SUBNET_ID = /^subnet-/;
/** The types of AWS zones in which Fargate does not run. */
const EDGE_ZONES: readonly string[] = ['local-zone', 'wavelength-zone'];
const ASSOCIATION_TAG = 'sigs.k8s.io/cluster-api-provider-aws/association';
const SECONDARY = 'secondary';

/**
 * Returns the AWS IDs of those subnets of the control plane that EKS accepts for Fargate, in the same order and without
 * duplicates. They are the default of an AWSFargateProfile's `spec.subnetIDs`.
 *
 * In a VPC that Cluster API Provider AWS creates, the `id` of a subnet is a placeholder, and `resourceID` is the AWS ID
 * once the subnet exists. In a VPC of the user, `id` is the AWS ID.
 */
export function privateSubnets(subnets: readonly NetworkSubnet[]): readonly string[] {
  const ids = subnets.filter(canRunFargate).map(({ resourceID, id }) => resourceID || id || '');
  return [...new Set(ids.filter((id) => AWS_SUBNET_ID.test(id)))];
}

/** Compares two lists of subnet IDs as sets. */
export function areSubnetsEqual(a: readonly string[], b: readonly string[]): boolean {
  const left = new Set(a);
  const right = new Set(b);
  return left.size === right.size && [...left].every((id) => right.has(id));
}

function canRunFargate(subnet: NetworkSubnet): boolean {
  return (
    subnet.isPublic !== true &&
    !EDGE_ZONES.includes(subnet.zoneType ?? '') &&
    // Secondary subnets are not for nodes or Fargate pods: the VPC CNI takes the addresses of pods on nodes from them.
    subnet.tags?.[ASSOCIATION_TAG] !== SECONDARY
  );
}
