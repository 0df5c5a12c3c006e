import type { EksClusterName, RoleArn } from '../names.ts';
import { textAt } from '../record.ts';
import type { UnknownRecord } from '../record.ts';

// The kind InstanceGroup of keiko's instance-manager, as far as its provisioner eks-fargate needs it:
// https://github.com/keikoproj/instance-manager/blob/master/docs/examples/EKS-fargate.md

export const INSTANCE_GROUP_GROUP = 'instancemgr.keikoproj.io';
export const INSTANCE_GROUP_VERSION = 'v1alpha1';
export const INSTANCE_GROUP_KIND = 'InstanceGroup';
export const INSTANCE_GROUP_PLURAL = 'instancegroups';

/** The finalizer that keiko puts on InstanceGroups of every provisioner. */
export const KEIKO_FINALIZER = 'finalizer.instancegroups.keikoproj.io';

/** The only provisioner of keiko whose InstanceGroups this controller reconciles. */
export const FARGATE_PROVISIONER = 'eks-fargate';

export interface FargateGroupSelector {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** The part `spec.eks-fargate` of an InstanceGroup. */
export interface FargateGroup {
  readonly clusterName: EksClusterName;
  /** The ARN of the pod execution role; undefined: the controller creates a role. */
  readonly podExecutionRoleArn?: RoleArn;
  readonly subnets: readonly string[];
  readonly selectors: readonly FargateGroupSelector[];
  readonly tags: Readonly<Record<string, string>>;
}

/** Whether an InstanceGroup has the provisioner `eks-fargate`. As in keiko, the case of the letters does not matter. */
export const isFargateGroup = (group: UnknownRecord): boolean =>
  textAt(group['spec'], 'provisioner')?.toLowerCase() === FARGATE_PROVISIONER;

/** `status.currentState` of an InstanceGroup; undefined: no controller has set it. */
export const currentStateOf = (group: UnknownRecord): string | undefined => textAt(group['status'], 'currentState');
