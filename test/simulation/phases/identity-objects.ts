import { type IdentityKind, IDENTITY_PLURALS } from '../../../api/external/identity.ts';
import type { SimulatedWorld } from '../world/simulated-world.ts';
import { IDENTITIES } from '../world/kinds.ts';
import { ACCOUNT } from '../world/cluster.ts';
import { STATIC_IDENTITY, identity, keysSecret } from '../../world/aws/identities.ts';

export type Keys = Parameters<typeof keysSecret>[1];

/**
 * Makes the fake API server stop serving the identity kinds, as before the installation of Cluster API Provider AWS.
 */
export const unserveIdentities = (world: SimulatedWorld): void =>
  IDENTITIES.forEach(({ plural }) => world.api.unserve(plural));
export const serveIdentities = (world: SimulatedWorld): void => IDENTITIES.forEach((kind) => world.api.serve(kind));
export const put = (world: SimulatedWorld, kind: IdentityKind, name: string, spec: object = {}): void =>
  world.create(IDENTITY_PLURALS[kind], { ...identity(kind, name, spec) });
export const change = (world: SimulatedWorld, kind: IdentityKind, name: string, spec: object): void =>
  world.patch(IDENTITY_PLURALS[kind], name, { spec });

export function putSecret(world: SimulatedWorld, keys: Keys): void {
  const kind = world.api.kind('secrets');
  const secret = { ...keysSecret('team-a', keys) };
  const key = { namespace: 'capaf-system', name: 'team-a' };
  if (world.api.storage.get(kind, key) === undefined) world.api.storage.create(kind, key.namespace, secret);
  else world.api.storage.mergePatch(kind, key, secret);
}

/** Creates the AWSClusterStaticIdentity `team-a` with a Secret that contains the given access key. */
export function putStaticIdentity(world: SimulatedWorld, keys: Keys): void {
  put(world, STATIC_IDENTITY, 'team-a', { secretRef: 'team-a' });
  putSecret(world, keys);
}

export const goodKeys = (world: SimulatedWorld, account: string = ACCOUNT): Keys =>
  world.aws.admin.registerKey({ account });
