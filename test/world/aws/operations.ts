import { eventually } from '../../support/eventually.ts';
import { fargateProfile } from '../manifests.ts';
import type { World } from '../world.ts';
import type { Calls } from './calls.ts';

/**
 * A duration of EKS operations that is longer than any test, in milliseconds. So an operation completes only when the
 * test completes it.
 */
export const HELD_MS = 3_600_000;

/**
 * The names of the AWS operations in `calls` that change AWS, in the order in which the calls arrived, e.g.
 * `DeleteRole`. Calls that AWS refused are included.
 */
export const operationsOf = (calls: Calls): readonly string[] => calls.mutations().map(({ operation }) => operation);

/**
 * Creates an AWSFargateProfile, and waits until EKS creates its Fargate profile. The creation lasts until the test ends it
 * with `admin.setProfile`.
 */
export async function startEndlessCreation(world: World, clusterName: string, name: string): Promise<void> {
  const { admin, model } = world.aws;
  const { createMs } = model.state.config.eks;
  admin.setConfig({ eks: { createMs: HELD_MS } });
  await world.apply(fargateProfile(name, { clusterName }));
  await eventually(() => world.awsView.profile(`default_${name}`)?.status === 'CREATING', { intervalMs: 20 });
  admin.setConfig({ eks: { createMs } });
}
