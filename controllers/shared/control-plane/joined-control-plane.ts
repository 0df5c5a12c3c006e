import type { AWSManagedControlPlane } from '../../../api/external/index.ts';
import { CONTROLLER_IDENTITY_KIND } from '../../../api/external/identity.ts';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { defaultEksClusterName } from '../../../pkg/fargate/names.ts';
import type { ControlPlaneAccounts } from './control-plane-accounts.ts';
import { keyText } from '../../../pkg/kube/object-key.ts';
import { CONTROL_PLANE_FINALIZER } from './control-plane-finalizer.ts';

/** The fields of an AWSFargateProfile that tell whether it is in the EKS cluster of a control plane. */
type InEksCluster = Pick<AWSFargateProfile, 'metadata' | 'spec' | 'status'>;

/**
 * Facts for the question whether spec.eksCluster of an AWSFargateProfile and a control plane name the same EKS cluster.
 */
export interface JoinFacts {
  /** The AWS region of the manager; `undefined` if it is not known. */
  readonly managerRegion?: string | undefined;
  readonly accounts?: Pick<ControlPlaneAccounts, 'accountOf'>;
}

/**
 * Whether spec.eksCluster of an AWSFargateProfile names the EKS cluster of this control plane. Such an
 * AWSFargateProfile joins the control plane: the control plane keeps this controller's finalizer as long as the
 * AWSFargateProfile exists, and the deletion of the control plane deletes the AWSFargateProfile too. The reason is that
 * EKS does not delete a cluster that has Fargate profiles.
 *
 * A control plane does not contain its AWS account. If the two objects name the same identity, they have the same
 * account. Otherwise the two accounts are compared. While one of them is not known, the AWSFargateProfile does not
 * join.
 */
export const joinsControlPlane = (
  profile: InEksCluster,
  controlPlane: AWSManagedControlPlane,
  facts: JoinFacts,
): boolean =>
  mayJoinControlPlane(profile, controlPlane, facts) &&
  (hasSameIdentity(profile, controlPlane) || hasSameAccount(profile, controlPlane, facts));

/**
 * Whether spec.eksCluster of an AWSFargateProfile has the name and the region of the control plane's EKS cluster, and
 * both objects are in one namespace. The result is false for a control plane that is not ready and lacks this
 * controller's finalizer, because nothing proves that the EKS cluster belongs to it.
 */
export function mayJoinControlPlane(
  profile: InEksCluster,
  controlPlane: AWSManagedControlPlane,
  { managerRegion }: JoinFacts,
): boolean {
  const { metadata, status } = profile;
  const eksCluster = namedEksCluster(profile);
  const { name, namespace, finalizers = [] } = controlPlane.metadata;
  return (
    eksCluster !== undefined &&
    metadata.namespace === namespace &&
    (controlPlane.ready || finalizers.includes(CONTROL_PLANE_FINALIZER)) &&
    eksCluster.name === (controlPlane.eksClusterName ?? defaultEksClusterName(name, namespace)) &&
    (eksCluster.region ?? status?.region ?? managerRegion) === controlPlane.region
  );
}

/**
 * Whether spec.eksCluster and the control plane give the same name and region of the EKS cluster, but name different
 * identities. Then the AWS accounts have to be compared.
 */
export const needsAccountToJoin = (
  profile: InEksCluster,
  controlPlane: AWSManagedControlPlane,
  facts: JoinFacts,
): boolean => mayJoinControlPlane(profile, controlPlane, facts) && !hasSameIdentity(profile, controlPlane);

/**
 * Returns the value in the cache index BY_EKS_CLUSTER for the EKS cluster of the control plane. The index finds the
 * AWSFargateProfiles of that EKS cluster by this value.
 */
export const eksClusterKeyOf = ({ eksClusterName, metadata: { name, namespace } }: AWSManagedControlPlane): string =>
  keyText({ namespace, name: eksClusterName ?? defaultEksClusterName(name, namespace) });

/**
 * Returns the EKS cluster that an AWSFargateProfile without spec.clusterName names: that of spec.eksCluster, or that of
 * status if the API server has dropped spec.eksCluster under another CRD.
 */
function namedEksCluster({ spec, status = {} }: Pick<InEksCluster, 'spec' | 'status'>): NamedEksCluster | undefined {
  const { eksClusterName: name, region, identityRef } = status;
  if (spec.clusterName !== undefined) return undefined;
  return spec.eksCluster ?? (name === undefined ? undefined : { name, region, identityRef });
}

interface NamedEksCluster {
  readonly name: string;
  readonly region?: string | undefined;
  readonly identityRef?: { readonly kind?: string; readonly name?: string } | undefined;
}

const hasSameIdentity = (profile: InEksCluster, { identityRef }: AWSManagedControlPlane): boolean =>
  identityText(namedEksCluster(profile)?.identityRef) === identityText(identityRef);

const hasSameAccount = (
  { status }: InEksCluster,
  controlPlane: AWSManagedControlPlane,
  { accounts }: JoinFacts,
): boolean => status?.account !== undefined && accounts?.accountOf(controlPlane) === status.account;

const identityText = ({
  kind = CONTROLLER_IDENTITY_KIND,
  name = 'default',
}: NamedEksCluster['identityRef'] = {}): string => `${kind}/${name}`;
