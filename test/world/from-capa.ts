import type { ProfileView, RoleView } from '../aws/views.ts';
import { fargateProfile } from './world.ts';
import type { World } from './world.ts';

export const EKS_POLICY = 'arn:aws:iam::aws:policy/AmazonEKSFargatePodExecutionRolePolicy';
export const CAPA_SHARED_ROLE = 'eks-fargate.cluster-api-provider-aws.sigs.k8s.io';
export const FINALIZER = 'awsfargateprofile.infrastructure.cluster.x-k8s.io';

/** What Cluster API Provider AWS writes: `FargateTrustRelationship` in its pkg/cloud/services/eks/iam/iam.go. */
export const CAPA_TRUST = JSON.stringify({
  Version: '2012-10-17',
  Statement: [
    { Effect: 'Allow', Principal: { Service: ['eks-fargate-pods.amazonaws.com'] }, Action: ['sts:AssumeRole'] },
  ],
});

/** Its only tag of ownership, on profile and role alike. */
export const capaTags = (cluster: string): Readonly<Record<string, string>> => ({
  [`kubernetes.io/cluster/${cluster}`]: 'owned',
});

export interface LeftByCapa {
  readonly profile: ProfileView;
  readonly role: RoleView;
}

/**
 * A profile that Cluster API Provider AWS made for the object `default/<name>`, with a role of the name `roleName`. They
 * are not foreign: whoever takes them over has to remove them in the end.
 */
export function leaveInAws(world: World, cluster: string, name: string, roleName: string): LeftByCapa {
  const tags = capaTags(cluster);
  const role = world.aws.admin.putRole({
    name: roleName,
    trustPolicy: CAPA_TRUST,
    tags,
    attachedPolicies: [EKS_POLICY],
    foreign: false,
  });
  const profile = world.aws.admin.putProfile({
    cluster: `default_${cluster}-control-plane`,
    name: `default_${name}`,
    podExecutionRoleArn: role.arn,
    tags,
    foreign: false,
  });
  return { profile, role };
}

/** The object as Cluster API Provider AWS leaves it: its finalizer, its label, names filled in, status in its old shape. */
export async function applyAsCapaLeft(world: World, cluster: string, name: string, spec: object = {}): Promise<void> {
  const metadata = { finalizers: [FINALIZER], labels: { 'cluster.x-k8s.io/cluster-name': cluster } };
  const since = '2025-11-03T09:00:00Z';
  // The status has to be there before the manager sees the object: it is paused until then.
  const annotations = { 'cluster.x-k8s.io/paused': '' };
  await world.apply(
    fargateProfile(
      name,
      { clusterName: cluster, profileName: `default_${name}`, ...spec },
      { ...metadata, annotations },
    ),
  );
  await world.controlPlane.api.patch(`${PROFILES}/${name}/status`, {
    status: {
      ready: true,
      failureReason: null,
      conditions: [
        { type: 'Ready', status: 'True', lastTransitionTime: since },
        { type: 'EKSFargateCreating', status: 'False', severity: 'Info', reason: 'Created', lastTransitionTime: since },
        { type: 'EKSFargateProfileReady', status: 'True', lastTransitionTime: since },
        { type: 'IAMFargateRolesReady', status: 'True', lastTransitionTime: since },
      ],
    },
  });
  await world.patch(name, { metadata: { annotations: { 'cluster.x-k8s.io/paused': null } } });
}

const PROFILES = '/apis/infrastructure.cluster.x-k8s.io/v1beta2/namespaces/default/awsfargateprofiles';
