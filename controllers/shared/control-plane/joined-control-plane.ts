import { keyText } from 'controller-runtime/client';
import type { AWSManagedControlPlane, Cluster, ObjectReference } from '../../../api/external/index.ts';
import { CONTROLLER_IDENTITY_KIND, isAWSManagedControlPlane } from '../../../api/external/index.ts';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { defaultEksClusterName } from '../../../pkg/fargate/names.ts';
import type { ControlPlaneAccounts } from './control-plane-accounts.ts';
import { type KnownLocation, locationOf, recordOf } from '../record.ts';
import { CONTROL_PLANE_FINALIZER } from './control-plane-finalizer.ts';

type InEksCluster = Pick<AWSFargateProfile, 'metadata' | 'spec' | 'status'>;

/** The facts that decide whether an AWSFargateProfile and a control plane refer to the same EKS cluster. */
export interface JoinFacts {
  readonly managerRegion?: string | undefined;
  readonly accounts?: Pick<ControlPlaneAccounts, 'accountOf'>;
}

/**
 * Reports whether spec.eksCluster of an AWSFargateProfile refers to this control plane's EKS cluster. The control plane
 * then keeps this controller's finalizer as long as the AWSFargateProfile exists, and its deletion deletes the
 * AWSFargateProfile too, because EKS does not delete a cluster that has Fargate profiles.
 *
 * A control plane does not contain its AWS account. Two objects with the same identity have the same account; otherwise
 * the accounts are compared. While either account is unknown, the result is false.
 */
export const joinsControlPlane = (
  profile: InEksCluster,
  controlPlane: AWSManagedControlPlane,
  facts: JoinFacts,
): boolean =>
  mayJoinControlPlane(profile, controlPlane, facts) &&
  (hasSameIdentity(profile, controlPlane) ||
    (knownLocationOf(profile) !== undefined &&
      facts.accounts?.accountOf(controlPlane) === knownLocationOf(profile)?.account));

/**
 * Reports whether the namespaces and the EKS clusters' names and regions are equal. False for a control plane that is
 * not ready and lacks this controller's finalizer: nothing proves that the EKS cluster belongs to it.
 */
function mayJoinControlPlane(
  profile: InEksCluster,
  controlPlane: AWSManagedControlPlane,
  { managerRegion }: JoinFacts,
): boolean {
  const { metadata } = profile;
  const eksCluster = namedEksCluster(profile);
  const { name, namespace, finalizers = [] } = controlPlane.metadata;
  return (
    eksCluster !== undefined &&
    metadata.namespace === namespace &&
    (controlPlane.ready || finalizers.includes(CONTROL_PLANE_FINALIZER)) &&
    eksCluster.name === (controlPlane.eksClusterName ?? defaultEksClusterName(name, namespace)) &&
    (eksCluster.region ?? knownLocationOf(profile)?.region ?? managerRegion) === controlPlane.region
  );
}

/** Reports whether the AWS accounts have to be compared, because the identities differ. */
export const needsAccountToJoin = (
  profile: InEksCluster,
  controlPlane: AWSManagedControlPlane,
  facts: JoinFacts,
): boolean => mayJoinControlPlane(profile, controlPlane, facts) && !hasSameIdentity(profile, controlPlane);

/** Returns the control plane's value in the index BY_EKS_CLUSTER. */
export const eksClusterKeyOf = ({ eksClusterName, metadata: { name, namespace } }: AWSManagedControlPlane): string =>
  keyText({ namespace, name: eksClusterName ?? defaultEksClusterName(name, namespace) });

/**
 * Returns the EKS cluster in the spec, or in the record if the API server has dropped spec.eksCluster under another CRD.
 */
function namedEksCluster(profile: InEksCluster): NamedEksCluster | undefined {
  const { clusterName, eksCluster } = profile.spec;
  if (clusterName !== undefined) return undefined;
  const place = knownLocationOf(profile);
  const { identity } = recordOf(profile);
  return eksCluster ?? (place && { name: place.eksCluster, region: place.region, identityRef: identity });
}

function knownLocationOf(profile: InEksCluster): KnownLocation | undefined {
  const location = locationOf(profile);
  return location.kind === 'known' ? location : undefined;
}

interface NamedEksCluster {
  readonly name: string;
  readonly region?: string | undefined;
  readonly identityRef?: { readonly kind?: string; readonly name?: string } | undefined;
}

const hasSameIdentity = (profile: InEksCluster, { identityRef }: AWSManagedControlPlane): boolean =>
  identityText(namedEksCluster(profile)?.identityRef) === identityText(identityRef);

const identityText = ({
  kind = CONTROLLER_IDENTITY_KIND,
  name = 'default',
}: NamedEksCluster['identityRef'] = {}): string => `${kind}/${name}`;

export const isElsewhere = ({ metadata }: Cluster, { namespace }: ObjectReference): boolean =>
  namespace !== metadata.namespace;

/**
 * Returns the control plane reference, unless it has a different kind or namespace: a user who can write Clusters in
 * one namespace must not be able to use region, identity and finalizer of a control plane in a different namespace.
 */
export function controlPlaneReference(cluster: Cluster): ObjectReference | undefined {
  const { controlPlaneRef: reference } = cluster;
  return reference && isAWSManagedControlPlane(reference) && !isElsewhere(cluster, reference) ? reference : undefined;
}
