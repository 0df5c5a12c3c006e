import { keyText } from 'controller-runtime/client';
import type { AWSManagedControlPlane, Cluster, ObjectReference } from '../../../api/external/index.ts';
import { CONTROLLER_IDENTITY_KIND, isAWSManagedControlPlane } from '../../../api/external/index.ts';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { defaultEksClusterName } from '../../../pkg/fargate/names.ts';
import type { ControlPlaneAccounts } from './control-plane-accounts.ts';
import { type KnownLocation, type Location, locationOf, recordOf, reportedLocationOf } from '../record.ts';
import { CONTROL_PLANE_FINALIZER } from './control-plane-finalizer.ts';

type InEksCluster = Pick<AWSFargateProfile, 'metadata' | 'spec' | 'status'>;

export interface JoinFacts {
  readonly managerRegion?: string | undefined;
  readonly accounts?: Pick<ControlPlaneAccounts, 'accountOf'>;
}

/**
 * Says whether spec.eksCluster refers to this control plane's EKS cluster. The control plane then keeps this
 * controller's finalizer as long as the AWSFargateProfile exists, and deleting the control plane deletes the
 * AWSFargateProfile too, because EKS does not delete a cluster that has Fargate profiles.
 *
 * A control plane does not contain its AWS account. Two objects with the same identity have the same account; otherwise
 * the accounts are compared.
 */
export function joinOf(
  profile: InEksCluster,
  controlPlane: AWSManagedControlPlane,
  facts: JoinFacts,
): 'yes' | 'no' | 'accountUnknown' {
  if (!namesEksClusterOf(profile, controlPlane, facts)) return 'no';
  if (hasSameIdentity(profile, controlPlane)) return 'yes';
  const location = locationOf(profile);
  if (location.kind === 'none') return 'no';
  const account = facts.accounts?.accountOf(controlPlane);
  if (location.kind === 'unknown' || account === undefined) return 'accountUnknown';
  return location.account === account ? 'yes' : 'no';
}

export const joinsControlPlane = (...args: Parameters<typeof joinOf>): boolean => joinOf(...args) === 'yes';

/**
 * Compares namespaces, and the EKS clusters' names and regions. Returns false for a control plane that is not ready and
 * lacks this controller's finalizer, because nothing proves that the EKS cluster belongs to it.
 */
function namesEksClusterOf(
  profile: InEksCluster,
  controlPlane: AWSManagedControlPlane,
  { managerRegion }: JoinFacts,
): boolean {
  const { metadata } = profile;
  const eksCluster = namedEksCluster(profile);
  const { namespace, finalizers = [] } = controlPlane.metadata;
  return (
    eksCluster !== undefined &&
    metadata.namespace === namespace &&
    (controlPlane.ready || finalizers.includes(CONTROL_PLANE_FINALIZER)) &&
    eksCluster.name === eksClusterNameOf(controlPlane) &&
    (eksCluster.region ?? knownLocationOf(profile)?.region ?? managerRegion) === controlPlane.region
  );
}

/** The accounts have to be compared only if the identities differ. */
export const needsAccountToJoin = (
  profile: InEksCluster,
  controlPlane: AWSManagedControlPlane,
  facts: JoinFacts,
): boolean => namesEksClusterOf(profile, controlPlane, facts) && !hasSameIdentity(profile, controlPlane);

/**
 * Whether record and status show that an AWSFargateProfile is in another EKS cluster than this control plane's. Does
 * not compare the accounts, because a control plane does not contain its account.
 */
export function isProvenElsewhere(profile: InEksCluster, controlPlane: AWSManagedControlPlane): boolean {
  const isHere = (location: Location): boolean =>
    location.kind === 'known' &&
    location.region === controlPlane.region &&
    location.eksCluster === eksClusterNameOf(controlPlane);
  const recorded = locationOf(profile);
  return (
    controlPlane.region !== undefined &&
    recorded.kind === 'known' &&
    ![recorded, reportedLocationOf(profile)].some(isHere)
  );
}

const eksClusterNameOf = ({ eksClusterName, metadata: { name, namespace } }: AWSManagedControlPlane): string =>
  eksClusterName ?? defaultEksClusterName(name, namespace);

export const eksClusterKeyOf = (controlPlane: AWSManagedControlPlane): string =>
  keyText({ namespace: controlPlane.metadata.namespace, name: eksClusterNameOf(controlPlane) });

/** Falls back to the record, because the API server may have dropped spec.eksCluster under another provider's CRD. */
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

interface Referrer extends Pick<Cluster, 'controlPlaneRef'> {
  readonly metadata: Pick<Cluster['metadata'], 'namespace'>;
}

export const isElsewhere = ({ metadata }: Referrer, { namespace }: ObjectReference): boolean =>
  namespace !== metadata.namespace;

/**
 * Returns `undefined` for a different kind or namespace. A user who can write Clusters in one namespace must not be
 * able to use the region, identity, and finalizer of a control plane in another namespace.
 */
export function controlPlaneReference(cluster: Referrer): ObjectReference | undefined {
  const { controlPlaneRef: reference } = cluster;
  return reference && isAWSManagedControlPlane(reference) && !isElsewhere(cluster, reference) ? reference : undefined;
}
