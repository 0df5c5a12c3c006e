import { ACCESS_ENTRY_RENEWED_ANNOTATION } from '../../../api/v1beta2/index.ts';
import { CAPA_TRUST, capaTags } from '../../world/from-capa.ts';
import { CLUSTER, EKS_CLUSTER, MINUTE, SECOND } from '../world.ts';
import type { Phase } from './phase.ts';
import { AT_ONCE, ROLE, WEB, applied, changeInIam, lookAgain, patchWeb, ready } from './phase.ts';

const NOBODY = '{"Version":"2012-10-17","Statement":[]}';
const MISCONFIGURED =
  'error:InvalidParameterException:Misconfigured PodExecutionRole Trust Policy; Please add the eks-fargate-pods.amazonaws.com Service Principal';

/** The role that the pods of the profile run under. */
export const ROLES: readonly Phase[] = [
  {
    name: 'role-not-owned',
    says: 'a role of the wanted name that somebody else made',
    arrange: (world) => {
      world.aws.admin.putRole({ name: ROLE, trustPolicy: CAPA_TRUST });
      applied(world);
    },
    until: ['Stalled', 'True', 'RoleNotOwned'],
    cure: (world) => patchWeb(world, { spec: { roleName: 'web-pods' } }),
  },
  {
    name: 'role-in-the-way',
    says: 'a role of the wanted name that somebody else made, and takes away',
    arrange: (world) => {
      world.aws.admin.putRole({ name: ROLE, trustPolicy: CAPA_TRUST });
      applied(world);
    },
    until: ['Stalled', 'True', 'RoleNotOwned'],
    cure: (world) => world.aws.admin.removeRole({ name: ROLE }),
  },
  {
    name: 'role-of-another-cluster',
    says: 'a role of the wanted name that serves another cluster',
    arrange: (world) => {
      const tags = {
        'sigs.k8s.io/cluster-api-provider-aws-fargate/eks-cluster':
          'arn:aws:eks:eu-west-1:123456789012:cluster/default_prod-control-plane',
      };
      world.aws.admin.putRole({ name: ROLE, trustPolicy: CAPA_TRUST, tags });
      applied(world);
    },
    until: ['Stalled', 'True', 'RoleNotOwned'],
    cure: (world) => patchWeb(world, { spec: { roleARN: `arn:aws:iam::123456789012:role/${ROLE}` } }),
  },
  {
    name: 'role-vanished',
    says: 'a role of somebody else that vanished under a profile that was Ready',
    arrange: async (world) => {
      const { arn: roleARN } = world.aws.admin.putRole({ name: 'platform', trustPolicy: CAPA_TRUST });
      await ready(world, { roleARN });
      world.aws.admin.removeRole({ name: 'platform' });
    },
    until: ['Stalled', 'True', 'RoleNotFound'],
    cure: (world) => void world.aws.admin.putRole({ name: 'platform', trustPolicy: CAPA_TRUST }),
  },
  {
    name: 'role-trust-invalid',
    says: 'a role of somebody else that Fargate may not assume',
    arrange: (world) => {
      const { arn: roleARN } = world.aws.admin.putRole({ name: 'platform', trustPolicy: NOBODY });
      applied(world, { roleARN });
    },
    until: ['Stalled', 'True', 'RoleTrustInvalid'],
    cure: (world) => {
      world.aws.admin.removeRole({ name: 'platform' });
      world.aws.admin.putRole({ name: 'platform', trustPolicy: CAPA_TRUST });
    },
  },
  {
    name: 'role-propagating',
    says: 'a role that EKS does not trust yet',
    options: { aws: { iam: { trustVisibleToEksMs: 60 * SECOND } } },
    arrange: (world) => applied(world),
    until: ['Ready', 'False', 'Propagating'],
    readAfter: 20 * SECOND,
  },
  {
    name: 'role-trust-refused',
    says: 'a role whose trust policy EKS does not accept, though it reads well',
    arrange: (world) => {
      world.aws.admin.addFault({ operation: 'CreateFargateProfile', kind: MISCONFIGURED });
      applied(world);
    },
    until: ['Stalled', 'True', 'RoleTrustInvalid'],
    cure: (world) => world.aws.admin.clearFaults(),
  },
  {
    name: 'role-settings-conflict',
    says: 'a role that an older profile wants otherwise',
    arrange: async (world) => {
      world.start();
      world.applyWith('older', { roleName: 'shared-pods', rolePath: '/pods/', additionalTags: { team: 'a' } });
      await world.ready('older');
      world.applyWith(WEB, { roleName: 'shared-pods', additionalTags: { team: 'b' } });
    },
    until: ['Stalled', 'True', 'RoleSettingsConflict'],
    cure: (world) => patchWeb(world, { spec: { roleName: 'web-pods' } }),
  },
  {
    name: 'role-recreated',
    says: 'a role that somebody deleted under a profile that was Ready',
    arrange: async (world) => {
      await ready(world);
      world.aws.admin.removeRole({ name: ROLE });
      lookAgain(world);
    },
    until: ['Stalled', 'True', 'RoleRecreated'],
    cure: (world) => {
      const id = world.aws.admin.roles().find(({ name }) => name === ROLE)?.id;
      patchWeb(world, { metadata: { annotations: { [ACCESS_ENTRY_RENEWED_ANNOTATION]: id } } });
    },
  },
  {
    name: 'role-of-capa-shared',
    says: 'the role that Cluster API Provider AWS shares between all profiles, which is not there',
    arrange: (world) => applied(world, { roleName: 'eks-fargate.cluster-api-provider-aws.sigs.k8s.io' }),
    until: ['Stalled', 'True', 'RoleNotFound'],
    cure: (world) => patchWeb(world, { spec: { roleName: 'web-pods' } }),
  },
  {
    name: 'taken-over',
    says: 'a profile and a role that Cluster API Provider AWS made, just taken over',
    arrange: async (world) => {
      const tags = capaTags(CLUSTER);
      const { arn } = world.aws.admin.putRole({ name: ROLE, trustPolicy: CAPA_TRUST, tags, foreign: false });
      world.aws.admin.putProfile({
        cluster: EKS_CLUSTER,
        name: `default_${WEB}`,
        podExecutionRoleArn: arn,
        selectors: [{ namespace: WEB, labels: {} }],
        tags,
        foreign: false,
      });
      await ready(world);
    },
    until: ['Ready', 'True'],
    readAfter: AT_ONCE,
  },
  {
    name: 'role-drift',
    says: 'a role whose trust policy somebody changed, after it was mended',
    arrange: async (world) => {
      await ready(world);
      changeInIam(world, ROLE, { trustPolicy: CAPA_TRUST });
      lookAgain(world);
      await world.clock.advance(MINUTE);
    },
    until: ['Ready', 'True'],
    readAfter: AT_ONCE,
  },
];
