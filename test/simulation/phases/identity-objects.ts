import type { SimulatedWorld } from '../world/simulated-world.ts';
import { ACCOUNT } from '../world/cluster.ts';
import {
  CONTROLLER_IDENTITY,
  ROLE_IDENTITY,
  STATIC_IDENTITY,
  identity,
  keysSecret,
} from '../../world/aws/identities.ts';

const GROUP = { group: 'infrastructure.cluster.x-k8s.io', versions: ['v1beta2'], namespaced: false };
const KINDS = [
  { ...GROUP, kind: CONTROLLER_IDENTITY, plural: 'awsclustercontrolleridentities' },
  { ...GROUP, kind: STATIC_IDENTITY, plural: 'awsclusterstaticidentities' },
  { ...GROUP, kind: ROLE_IDENTITY, plural: 'awsclusterroleidentities' },
];
export const PLURALS: Readonly<Record<string, string>> = Object.fromEntries(
  KINDS.map(({ kind, plural }) => [kind, plural]),
);
export type Keys = Parameters<typeof keysSecret>[1];

/** Makes the fake API server serve the three identity kinds of Cluster API Provider AWS. */
export const serveIdentities = (world: SimulatedWorld): void => KINDS.forEach((kind) => world.api.serve(kind));
export const put = (world: SimulatedWorld, kind: string, name: string, spec: object = {}): void =>
  world.create(String(PLURALS[kind]), { ...identity(kind, name, spec) });
export const change = (world: SimulatedWorld, kind: string, name: string, spec: object): void =>
  world.patch(String(PLURALS[kind]), name, { spec });

export function putSecret(world: SimulatedWorld, keys: Keys): void {
  const kind = world.api.kind('secrets');
  const secret = { ...keysSecret('team-a', keys) };
  const key = { namespace: 'capaf-system', name: 'team-a' };
  if (world.api.storage.get(kind, key) === undefined) world.api.storage.create(kind, key.namespace, secret);
  else world.api.storage.mergePatch(kind, key, secret);
}

/** Creates the AWSClusterStaticIdentity `team-a` with a Secret that contains the given access key. */
export function putStaticIdentity(world: SimulatedWorld, keys: Keys): void {
  serveIdentities(world);
  put(world, STATIC_IDENTITY, 'team-a', { secretRef: 'team-a' });
  putSecret(world, keys);
}

export const goodKeys = (world: SimulatedWorld, account: string = ACCOUNT): Keys =>
  world.aws.admin.registerKey({ account });
