import type { AWSManagedControlPlane, Cluster } from '../../api/external/index.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';

/** Absent is not unknown: a kind that is not served, or not listed yet, proves nothing. */
export type Looked<A> =
  | { readonly kind: 'found'; readonly object: A }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unknown'; readonly why: string };

/** All that Kubernetes says about one object, read once at the beginning of a pass. */
export interface Inputs {
  readonly object: AWSFargateProfile;
  readonly cluster: Looked<Cluster>;
  /** The version in which Clusters are read: `cluster.x-k8s.io/v1beta2`. */
  readonly clusterApiVersion: string;
  /** The one that the Cluster names; absent as long as there is no Cluster to name it. */
  readonly controlPlane: Looked<AWSManagedControlPlane>;
  /** Other living objects of the same Cluster that name the same role. */
  readonly sharers: readonly AWSFargateProfile[];
}
