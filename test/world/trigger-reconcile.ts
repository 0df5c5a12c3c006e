import type { World } from './world.ts';

let annotations = 0;

/**
 * Changes an annotation of an AWSFargateProfile, so that the manager reconciles the object at once and not only at its
 * next poll of AWS.
 */
export async function triggerReconcile(world: World, name: string, namespace = 'default'): Promise<void> {
  annotations += 1;
  await world.patch(name, { metadata: { annotations: { 'tests.example.com/look': String(annotations) } } }, namespace);
}
