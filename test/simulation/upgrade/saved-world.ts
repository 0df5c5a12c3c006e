import { readFileSync } from 'node:fs';
import { PLURAL } from '../../../api/v1beta2/index.ts';
import type { Ms } from '../../../pkg/env/clock.ts';
import type { KubeObject } from '../../../pkg/kube/types.ts';
import type { EmulatedAccount } from '../../aws/model/resources.ts';
import { SimulatedWorld } from '../world/simulated-world.ts';

/** What a manager left behind: the objects in the API server and all resources in AWS. */
interface SavedWorld {
  readonly elapsed: Ms;
  readonly objects: Readonly<Record<string, readonly KubeObject[]>>;
  readonly accounts: ReadonlyMap<string, EmulatedAccount>;
}

const PLURALS = ['clusters', 'awsmanagedcontrolplanes', PLURAL];

export function saveWorld(world: SimulatedWorld): string {
  const saved: SavedWorld = {
    elapsed: world.elapsed,
    objects: Object.fromEntries(PLURALS.map((plural) => [plural, world.objects(plural)])),
    accounts: world.aws.model.state.accounts,
  };
  return `${JSON.stringify(saved, (_, value: unknown) => collectionToJson(value), 1)}\n`;
}

/** Returns a world without a manager, as a manager of another release has left it. */
export async function loadWorld(file: URL): Promise<SimulatedWorld> {
  const saved = JSON.parse(readFileSync(file, 'utf8'), (_, value: unknown) => collectionFromJson(value)) as SavedWorld;
  const world = new SimulatedWorld();
  await world.clock.advance(saved.elapsed);
  for (const [id, account] of saved.accounts) world.aws.model.state.accounts.set(id, account);
  for (const [plural, objects] of Object.entries(saved.objects))
    for (const object of objects) put(world, plural, object);
  for (const [plural, objects] of Object.entries(saved.objects))
    for (const { metadata } of objects)
      if (metadata.deletionTimestamp !== undefined) world.remove(plural, metadata.name);
  return world;
}

/** Puts an object with the parts that clients write; the API server has set the others again. */
function put(world: SimulatedWorld, plural: string, { metadata, spec, status }: KubeObject): void {
  const { name, labels, annotations, finalizers, ownerReferences } = metadata;
  const written = { metadata: { name, labels, annotations, finalizers, ownerReferences }, spec };
  if (world.object(plural, name) === undefined) world.create(plural, written);
  else world.patch(plural, name, written);
  if (status !== undefined) world.patch(plural, name, { status }, 'status');
}

const collectionToJson = (value: unknown): unknown => {
  if (value instanceof Map) return { map: [...value] };
  return value instanceof Set ? { set: [...value] } : value;
};

const collectionFromJson = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null) return value;
  if ('map' in value && Array.isArray(value.map)) return new Map(value.map as [unknown, unknown][]);
  return 'set' in value && Array.isArray(value.set) ? new Set(value.set as unknown[]) : value;
};
