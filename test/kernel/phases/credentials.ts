import { FINALIZER, PLURAL } from '../../../api/v1beta2/index.ts';
import type { KernelWorld } from '../world.ts';
import { ACCOUNT, CLUSTER } from '../world.ts';
import {
  CONTROLLER,
  ROLE as ROLE_IDENTITY,
  STATIC,
  identity,
  keysSecret,
  trusting,
  userArn,
} from '../../world/identities.ts';
import type { Phase } from './phase.ts';
import { WEB, applied, patchControlPlane, ready } from './phase.ts';

const GROUP = { group: 'infrastructure.cluster.x-k8s.io', versions: ['v1beta2'], namespaced: false };
const KINDS = [
  { ...GROUP, kind: CONTROLLER, plural: 'awsclustercontrolleridentities' },
  { ...GROUP, kind: STATIC, plural: 'awsclusterstaticidentities' },
  { ...GROUP, kind: ROLE_IDENTITY, plural: 'awsclusterroleidentities' },
];
const PLURALS: Readonly<Record<string, string>> = Object.fromEntries(KINDS.map(({ kind, plural }) => [kind, plural]));
const MANAGER = userArn(ACCOUNT, 'manager-1');

const serveIdentities = (world: KernelWorld): void => KINDS.forEach((kind) => world.api.serve(kind));
const put = (world: KernelWorld, kind: string, name: string, spec: object = {}): void =>
  world.create(String(PLURALS[kind]), { ...identity(kind, name, spec) });
const change = (world: KernelWorld, kind: string, name: string, spec: object): void =>
  world.patch(String(PLURALS[kind]), name, { spec });
const named = (world: KernelWorld, kind: string, name: string): void =>
  patchControlPlane(world, { spec: { identityRef: { kind, name } } });

function putSecret(world: KernelWorld, keys: Parameters<typeof keysSecret>[1]): void {
  const kind = world.api.kind('secrets');
  const secret = { ...keysSecret('team-a', keys) };
  const key = { namespace: 'capaf-system', name: 'team-a' };
  if (world.api.storage.get(kind, key) === undefined) world.api.storage.create(kind, key.namespace, secret);
  else world.api.storage.mergePatch(kind, key, secret);
}

/** A static identity whose keys are in a Secret, those of the account where nothing else is said. */
function withStatic(world: KernelWorld, keys?: Parameters<typeof keysSecret>[1]): void {
  serveIdentities(world);
  put(world, STATIC, 'team-a', { secretRef: 'team-a' });
  putSecret(world, keys ?? goodKeys(world));
  named(world, STATIC, 'team-a');
}

const goodKeys = (world: KernelWorld, account: string = ACCOUNT) => world.aws.admin.registerKey({ account });

/** What turns CredentialsReady False. */
export const CREDENTIALS: readonly Phase[] = [
  {
    name: 'credentials-invalid',
    says: 'keys of the manager that AWS does not know any more',
    arrange: async (world) => {
      await ready(world);
      world.aws.admin.removeKey({ accessKeyId: 'manager-1' });
    },
    until: ['CredentialsReady', 'False', 'CredentialsInvalid'],
    cure: (world) => void world.aws.admin.registerKey({ account: ACCOUNT, accessKeyId: 'manager-1' }),
  },
  {
    name: 'identities-not-served',
    says: 'an identity of a kind that the API server does not know yet',
    arrange: (world) => {
      named(world, STATIC, 'team-a');
      applied(world);
    },
    until: ['CredentialsReady', 'False', 'IdentityUnreadable'],
    cure: (world) => withStatic(world),
  },
  {
    name: 'identity-not-found',
    says: 'an identity that does not exist',
    arrange: (world) => {
      serveIdentities(world);
      named(world, STATIC, 'team-a');
      applied(world);
    },
    until: ['CredentialsReady', 'False', 'IdentityNotFound'],
    cure: (world) => withStatic(world),
  },
  {
    name: 'identity-not-allowed',
    says: 'an identity that other namespaces may use',
    arrange: (world) => {
      withStatic(world);
      change(world, STATIC, 'team-a', { allowedNamespaces: { list: ['team-a'] } });
      applied(world);
    },
    until: ['CredentialsReady', 'False', 'IdentityNotAllowed'],
    cure: (world) => change(world, STATIC, 'team-a', { allowedNamespaces: { list: ['team-a', 'default'] } }),
  },
  {
    name: 'identity-allows-nobody',
    says: 'an identity that no namespace may use',
    arrange: (world) => {
      withStatic(world);
      change(world, STATIC, 'team-a', { allowedNamespaces: null });
      applied(world);
    },
    until: ['CredentialsReady', 'False', 'IdentityNotAllowed'],
    cure: (world) => change(world, STATIC, 'team-a', { allowedNamespaces: { list: ['default'] } }),
  },
  {
    name: 'identity-loop',
    says: 'identities that name each other',
    arrange: (world) => {
      serveIdentities(world);
      const { arn: roleARN } = world.aws.admin.putRole({ name: 'fargate', trustPolicy: trusting(MANAGER) });
      const from = (name: string) => ({ roleARN, sourceIdentityRef: { kind: ROLE_IDENTITY, name } });
      put(world, ROLE_IDENTITY, 'team-a', from('team-b'));
      put(world, ROLE_IDENTITY, 'team-b', from('team-a'));
      named(world, ROLE_IDENTITY, 'team-a');
      applied(world);
    },
    until: ['CredentialsReady', 'False', 'IdentityLoop'],
    cure: (world) => change(world, ROLE_IDENTITY, 'team-a', { sourceIdentityRef: null }),
  },
  {
    name: 'identity-invalid',
    says: 'a role identity that names no role',
    arrange: (world) => {
      serveIdentities(world);
      put(world, ROLE_IDENTITY, 'team-a');
      named(world, ROLE_IDENTITY, 'team-a');
      applied(world);
    },
    until: ['CredentialsReady', 'False', 'IdentityInvalid'],
    cure: (world) => {
      const { arn: roleARN } = world.aws.admin.putRole({ name: 'fargate', trustPolicy: trusting(MANAGER) });
      change(world, ROLE_IDENTITY, 'team-a', { roleARN });
    },
  },
  {
    name: 'secret-not-found',
    says: 'an identity whose Secret does not exist',
    arrange: (world) => {
      serveIdentities(world);
      put(world, STATIC, 'team-a', { secretRef: 'team-a' });
      named(world, STATIC, 'team-a');
      applied(world);
    },
    until: ['CredentialsReady', 'False', 'SecretNotFound'],
    cure: (world) => putSecret(world, goodKeys(world)),
  },
  {
    name: 'secret-incomplete',
    says: 'an identity whose Secret lacks a key',
    arrange: (world) => {
      withStatic(world, { accessKeyId: 'AKIAEXAMPLE' });
      applied(world);
    },
    until: ['CredentialsReady', 'False', 'SecretIncomplete'],
    cure: (world) => putSecret(world, goodKeys(world)),
  },
  {
    name: 'assume-role-denied',
    says: 'a role that does not trust the manager',
    arrange: (world) => {
      serveIdentities(world);
      const trustPolicy = trusting(userArn(ACCOUNT, 'somebody-else'));
      const { arn: roleARN } = world.aws.admin.putRole({ name: 'fargate', trustPolicy });
      put(world, ROLE_IDENTITY, 'team-a', { roleARN });
      named(world, ROLE_IDENTITY, 'team-a');
      applied(world);
    },
    until: ['CredentialsReady', 'False', 'AssumeRoleDenied'],
    cure: (world) => {
      world.aws.admin.removeRole({ name: 'fargate' });
      world.aws.admin.putRole({ name: 'fargate', trustPolicy: trusting(MANAGER) });
    },
  },
  {
    name: 'assume-role-refused',
    says: 'a session that is to last longer than the role allows',
    arrange: (world) => {
      serveIdentities(world);
      const { arn: roleARN } = world.aws.admin.putRole({ name: 'fargate', trustPolicy: trusting(MANAGER) });
      put(world, ROLE_IDENTITY, 'team-a', { roleARN, durationSeconds: 43_200 });
      named(world, ROLE_IDENTITY, 'team-a');
      applied(world);
    },
    until: ['CredentialsReady', 'False', 'AssumeRoleRefused'],
    cure: (world) => change(world, ROLE_IDENTITY, 'team-a', { durationSeconds: 3_600 }),
  },
  {
    name: 'wrong-account',
    says: 'keys of another account than the one that the profile is in',
    arrange: async (world) => {
      withStatic(world);
      await ready(world);
      putSecret(world, goodKeys(world, '210987654321'));
    },
    until: ['CredentialsReady', 'False', 'WrongAccount'],
    cure: (world) => putSecret(world, goodKeys(world)),
  },
  {
    name: 'account-uncertain',
    says: 'a deletion of what another provider made, with keys of an account that does not know its EKS cluster',
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
    cure: (world) => putSecret(world, goodKeys(world)),
  },
  {
    name: 'deleting-without-credentials',
    says: 'a deletion whose identity is gone',
    arrange: async (world) => {
      withStatic(world);
      await ready(world);
      world.remove(String(PLURALS[STATIC]), 'team-a');
      world.delete(WEB);
    },
    until: ['Deleting', 'True', 'IdentityNotFound'],
    cure: (world) => put(world, STATIC, 'team-a', { secretRef: 'team-a' }),
  },
];
