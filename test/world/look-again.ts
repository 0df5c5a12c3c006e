import type { World } from './world.ts';

let looks = 0;

/** Has the manager look at the object at once, as anybody's annotation does: a test does not sit out a slow poll. */
export async function lookAgain(world: World, name: string, namespace = 'default'): Promise<void> {
  looks += 1;
  await world.patch(name, { metadata: { annotations: { 'tests.example.com/look': String(looks) } } }, namespace);
}
