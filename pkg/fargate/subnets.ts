import type { ControlPlaneSubnet } from '../../api/external/index.ts';

const AWS_SUBNET_ID = /^subnet-/;
/** Fargate does not run in zones of these types. */
const EDGE_ZONES: readonly string[] = ['local-zone', 'wavelength-zone'];
const ASSOCIATION_TAG = 'sigs.k8s.io/cluster-api-provider-aws/association';
const SECONDARY = 'secondary';

/** The default of `spec.subnetIDs`: the control plane's subnets that EKS accepts for Fargate, in the same order. */
export function privateSubnets(subnets: readonly ControlPlaneSubnet[]): readonly string[] {
  const ids = subnets.filter(canRunFargate).map(({ resourceID, id }) => resourceID ?? id);
  return [...new Set(ids.filter((id) => AWS_SUBNET_ID.test(id)))];
}

/** Compares the lists as sets. */
export function areSubnetsEqual(a: readonly string[], b: readonly string[]): boolean {
  const left = new Set(a);
  const right = new Set(b);
  return left.size === right.size && [...left].every((id) => right.has(id));
}

function canRunFargate(subnet: ControlPlaneSubnet): boolean {
  return (
    !subnet.isPublic &&
    !EDGE_ZONES.includes(subnet.zoneType ?? '') &&
    // Secondary subnets are not for nodes or Fargate pods: the VPC CNI uses them for the addresses of pods on nodes.
    subnet.tags[ASSOCIATION_TAG] !== SECONDARY
  );
}
