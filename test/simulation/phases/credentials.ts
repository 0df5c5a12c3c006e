import { IDENTITY_PLURALS } from '../../../api/external/identity.ts';
import { FINALIZER, PLURAL } from '../../../api/v1beta2/index.ts';
import type { SimulatedWorld } from '../world/simulated-world.ts';
import { ACCOUNT, CLUSTER, EKS_CLUSTER } from '../world/cluster.ts';
import { ROLE_IDENTITY, STATIC_IDENTITY, trustPolicyFor, userArn } from '../../world/aws/identities.ts';
import type { Keys } from './identity-objects.ts';
import {
  change,
  goodKeys,
  put,
  putSecret,
  putStaticIdentity,
  serveIdentities,
  unserveIdentities,
} from './identity-objects.ts';
import { type Phases, PROFILE, ROLE, WEB, deleteHeld, patchControlPlane, patchWeb, startAndApply } from './phase.ts';

const MANAGER = userArn(ACCOUNT, 'manager-1');

const named = (world: SimulatedWorld, kind: string, name: string): void =>
  patchControlPlane(world, { spec: { identityRef: { kind, name } } });

/**
 * Creates an AWSClusterStaticIdentity and names it in the control plane. The Secret of the identity contains the given
 * access key; default: a new access key of the default AWS account.
 */
function withStatic(world: SimulatedWorld, keys: Keys = goodKeys(world)): void {
  putStaticIdentity(world, keys);
  named(world, STATIC_IDENTITY, 'team-a');
}

/** Situations in which the condition CredentialsReady is False. */
export const CREDENTIALS: Phases = {
  'credentials-invalid': {
    title: 'manager keys that AWS does not accept any more',
    after: (world) => world.aws.admin.removeKey({ accessKeyId: 'manager-1' }),
    until: ['CredentialsReady', 'False', 'CredentialsInvalid'],
    remedy: (world) => void world.aws.admin.registerKey({ account: ACCOUNT, accessKeyId: 'manager-1' }),
  },
  'identities-not-served': {
    title: 'an identity of a kind that the API server does not serve yet',
    before: (world) => {
      unserveIdentities(world);
      named(world, STATIC_IDENTITY, 'team-a');
    },
    until: ['CredentialsReady', 'False', 'IdentityUnreadable'],
    remedy: (world) => {
      serveIdentities(world);
      withStatic(world);
    },
  },
  'identity-not-found': {
    title: 'an identity that does not exist',
    before: (world) => named(world, STATIC_IDENTITY, 'team-a'),
    until: ['CredentialsReady', 'False', 'IdentityNotFound'],
    remedy: (world) => withStatic(world),
  },
  'identity-not-allowed': {
    title: 'an identity that only other namespaces may use',
    before: (world) => {
      withStatic(world);
      change(world, STATIC_IDENTITY, 'team-a', { allowedNamespaces: { list: ['team-a'] } });
    },
    until: ['CredentialsReady', 'False', 'IdentityNotAllowed'],
    remedy: (world) => change(world, STATIC_IDENTITY, 'team-a', { allowedNamespaces: { list: ['team-a', 'default'] } }),
  },
  'identity-allows-nobody': {
    title: 'an identity that no namespace may use',
    before: (world) => {
      withStatic(world);
      change(world, STATIC_IDENTITY, 'team-a', { allowedNamespaces: null });
    },
    until: ['CredentialsReady', 'False', 'IdentityNotAllowed'],
    remedy: (world) => change(world, STATIC_IDENTITY, 'team-a', { allowedNamespaces: { list: ['default'] } }),
  },
  'identity-loop': {
    title: 'identities that name each other',
    before: (world) => {
      const { arn: roleARN } = world.aws.admin.putRole({ name: 'fargate', trustPolicy: trustPolicyFor(MANAGER) });
      const from = (name: string) => ({ roleARN, sourceIdentityRef: { kind: ROLE_IDENTITY, name } });
      put(world, ROLE_IDENTITY, 'team-a', from('team-b'));
      put(world, ROLE_IDENTITY, 'team-b', from('team-a'));
      named(world, ROLE_IDENTITY, 'team-a');
    },
    until: ['CredentialsReady', 'False', 'IdentityLoop'],
    remedy: (world) => change(world, ROLE_IDENTITY, 'team-a', { sourceIdentityRef: null }),
  },
  'identity-invalid': {
    title: 'a role identity that names no role',
    before: (world) => {
      put(world, ROLE_IDENTITY, 'team-a');
      named(world, ROLE_IDENTITY, 'team-a');
    },
    until: ['CredentialsReady', 'False', 'IdentityInvalid'],
    remedy: (world) => {
      const { arn: roleARN } = world.aws.admin.putRole({ name: 'fargate', trustPolicy: trustPolicyFor(MANAGER) });
      change(world, ROLE_IDENTITY, 'team-a', { roleARN });
    },
  },
  'secret-not-found': {
    title: 'an identity whose Secret does not exist',
    before: (world) => {
      put(world, STATIC_IDENTITY, 'team-a', { secretRef: 'team-a' });
      named(world, STATIC_IDENTITY, 'team-a');
    },
    until: ['CredentialsReady', 'False', 'SecretNotFound'],
    remedy: (world) => putSecret(world, goodKeys(world)),
  },
  'secret-incomplete': {
    title: 'an identity whose Secret lacks a key',
    before: (world) => withStatic(world, { accessKeyId: 'AKIAEXAMPLE' }),
    until: ['CredentialsReady', 'False', 'SecretIncomplete'],
    remedy: (world) => putSecret(world, goodKeys(world)),
  },
  'assume-role-denied': {
    title: 'a role that does not trust the manager',
    before: (world) => {
      const trustPolicy = trustPolicyFor(userArn(ACCOUNT, 'somebody-else'));
      const { arn: roleARN } = world.aws.admin.putRole({ name: 'fargate', trustPolicy });
      put(world, ROLE_IDENTITY, 'team-a', { roleARN });
      named(world, ROLE_IDENTITY, 'team-a');
    },
    until: ['CredentialsReady', 'False', 'AssumeRoleDenied'],
    remedy: (world) => {
      world.aws.admin.removeRole({ name: 'fargate' });
      world.aws.admin.putRole({ name: 'fargate', trustPolicy: trustPolicyFor(MANAGER) });
    },
  },
  'assume-role-refused': {
    title: 'a session duration above the maximum of the role',
    before: (world) => {
      const { arn: roleARN } = world.aws.admin.putRole({ name: 'fargate', trustPolicy: trustPolicyFor(MANAGER) });
      put(world, ROLE_IDENTITY, 'team-a', { roleARN, durationSeconds: 43_200 });
      named(world, ROLE_IDENTITY, 'team-a');
    },
    until: ['CredentialsReady', 'False', 'AssumeRoleRefused'],
    remedy: (world) => change(world, ROLE_IDENTITY, 'team-a', { durationSeconds: 3_600 }),
  },
  'region-invalid': {
    title: 'a region name that no region can have',
    before: (world) => patchControlPlane(world, { spec: { region: 'us_east_1' } }),
    until: ['CredentialsReady', 'False', 'RegionInvalid'],
    remedy: (world) => patchControlPlane(world, { spec: { region: 'us-east-1' } }),
  },
  'region-not-enabled': {
    title: 'a region that is not enabled in the account',
    arrange: (world) => {
      const region = 'af-south-1';
      const { subnets } = world.aws.admin.createCluster({ name: EKS_CLUSTER, region });
      world.aws.admin.setRegionEnabled({ region, enabled: false });
      patchControlPlane(world, { spec: { region } });
      startAndApply(world, { subnetIDs: subnets.filter(({ isPublic }) => !isPublic).map(({ id }) => id) });
    },
    until: ['CredentialsReady', 'False', 'RegionNotEnabled'],
    remedy: (world) => world.aws.admin.setRegionEnabled({ region: 'af-south-1', enabled: true }),
  },
  'wrong-account': {
    title: 'keys of another account than the account of the profile',
    before: (world) => withStatic(world),
    after: (world) => putSecret(world, goodKeys(world, '210987654321')),
    until: ['CredentialsReady', 'False', 'WrongAccount'],
    remedy: (world) => putSecret(world, goodKeys(world)),
  },
  'account-uncertain': {
    title: 'a deletion for another provider’s profile, with keys of an account without the EKS cluster',
    arrange: (world) => {
      withStatic(world, goodKeys(world, '210987654321'));
      world.create(PLURAL, {
        metadata: { name: WEB, finalizers: [FINALIZER] },
        spec: { clusterName: CLUSTER, selectors: [{ namespace: WEB }] },
      });
      world.delete(WEB);
      world.start();
    },
    until: ['CredentialsReady', 'False', 'AccountUncertain'],
    remedy: (world) => putSecret(world, goodKeys(world)),
  },
  'deleting-without-credentials': {
    title: 'a deletion whose identity is gone',
    before: (world) => withStatic(world),
    after: (world) => {
      world.remove(IDENTITY_PLURALS[STATIC_IDENTITY], 'team-a');
      world.delete(WEB);
    },
    until: ['Deleting', 'True', 'IdentityNotFound'],
    remedy: (world) => put(world, STATIC_IDENTITY, 'team-a', { secretRef: 'team-a' }),
  },
  'torn-down-without-credentials': {
    title: 'a deletion with its control plane, whose account is lost',
    before: (world) => withStatic(world),
    after: (world) => {
      world.remove(IDENTITY_PLURALS[STATIC_IDENTITY], 'team-a');
      deleteHeld(world, 'awsmanagedcontrolplanes', `${CLUSTER}-control-plane`);
    },
    until: ['Deleting', 'True', 'IdentityNotFound'],
    remedy: (world) => {
      patchWeb(world, { metadata: { finalizers: null } });
      world.aws.admin.removeProfile({ cluster: EKS_CLUSTER, name: PROFILE });
      world.aws.admin.removeRole({ name: ROLE });
    },
  },
};
