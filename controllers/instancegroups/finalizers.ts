/**
 * The finalizer of this controller on a keiko InstanceGroup. It keeps the InstanceGroup until its AWSFargateProfile is
 * gone. If keiko's finalizer must keep the InstanceGroup even longer, this controller removes its own finalizer before
 * it deletes the AWSFargateProfile.
 */
export const GROUP_FINALIZER = 'aws-fargate.cluster.x-k8s.io/instancegroup';
/**
 * The finalizer of Kubernetes on an object that is deleted with `kubectl delete --cascade=orphan`. The garbage
 * collector removes it after it has removed the owner references of the dependent objects.
 */
export const ORPHAN_FINALIZER = 'orphan';
