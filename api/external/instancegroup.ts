import type { EksClusterName, RoleArn } from '../names.ts';
import { textAt } from '../record.ts';
import type { UnknownRecord } from '../record.ts';

// The kind InstanceGroup of keiko's instance-manager, with only the fields that its provisioner eks-fargate uses:
// https://github.com/keikoproj/instance-manager/blob/master/docs/examples/EKS-fargate.md

export const INSTANCE_GROUP_GROUP = 'instancemgr.keikoproj.io';
export const INSTANCE_GROUP_VERSION = 'v1alpha1';
export const INSTANCE_GROUP_KIND = 'InstanceGroup';
export const INSTANCE_GROUP_PLURAL = 'instancegroups';

/** The finalizer that keiko's instance-manager puts on InstanceGroups of every provisioner. */
export const KEIKO_FINALIZER = 'finalizer.instancegroups.keikoproj.io';

/** The only provisioner of keiko's instance-manager whose InstanceGroups this controller reconciles. */
export const FARGATE_PROVISIONER = 'eks-fargate';

export interface FargateGroupSelector {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** The field `spec.eks-fargate` of an InstanceGroup. */
export interface FargateGroup {
  readonly clusterName: EksClusterName;
  /** The ARN of the pod execution role; undefined: the controller creates a role for the Fargate profile. */
  readonly podExecutionRoleArn?: RoleArn;
  readonly subnets: readonly string[];
  readonly selectors: readonly FargateGroupSelector[];
  readonly tags: Readonly<Record<string, string>>;
}

/**
 * Whether the provisioner of an InstanceGroup is `eks-fargate`, in upper or lower case, as in keiko's instance-manager.
 */
export const isFargateGroup = (group: UnknownRecord): boolean =>
  textAt(group['spec'], 'provisioner')?.toLowerCase() === FARGATE_PROVISIONER;

/** The field `status.currentState` of an InstanceGroup; undefined if no controller has set the field. */
export const currentStateOf = (group: UnknownRecord): string | undefined => textAt(group['status'], 'currentState');
