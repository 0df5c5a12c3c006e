/** A subnet of `spec.network.subnets` of an AWSManagedControlPlane, as far as it is read. */
export interface NetworkSubnet {
  readonly id?: string | undefined;
  readonly resourceID?: string | undefined;
  readonly isPublic?: boolean | undefined;
  readonly zoneType?: string | undefined;
  readonly tags?: Readonly<Record<string, string>> | undefined;
}

const AWS_SUBNET_ID = /^subnet-/;
/** Fargate runs in the zones of a region only. */
const EDGE_ZONES: readonly string[] = ['local-zone', 'wavelength-zone'];
const ASSOCIATION_TAG = 'sigs.k8s.io/cluster-api-provider-aws/association';
const SECONDARY = 'secondary';

/**
 * The subnets for a profile that names none, by their ids in AWS: those of the control plane that EKS takes for Fargate, in
 * its order, each once.
 *
 * In a VPC that Cluster API Provider AWS makes, `id` is a placeholder and `resourceID` the subnet's id in AWS once it
 * exists; in a VPC brought along, `id` is the AWS id.
 */
export function privateSubnets(subnets: readonly NetworkSubnet[]): readonly string[] {
  const ids = subnets.filter(takesFargate).map(({ resourceID, id }) => resourceID || id || '');
  return [...new Set(ids.filter((id) => AWS_SUBNET_ID.test(id)))];
}

/** Whether two lists hold the same subnets; neither order nor repetition matters. */
export function sameSubnets(a: readonly string[], b: readonly string[]): boolean {
  const left = new Set(a);
  const right = new Set(b);
  return left.size === right.size && [...left].every((id) => right.has(id));
}

function takesFargate(subnet: NetworkSubnet): boolean {
  return (
    subnet.isPublic !== true &&
    !EDGE_ZONES.includes(subnet.zoneType ?? '') &&
    // Secondary subnets give addresses to pods of the VPC CNI; no node or Fargate pod stands in them.
    subnet.tags?.[ASSOCIATION_TAG] !== SECONDARY
  );
}
