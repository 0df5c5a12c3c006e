import { expect } from 'chai';
import { type DescribedEvent, describeAsKubectl } from '../support/kubectl-describe.ts';
import { normalizeDescription } from '../support/golden.ts';
import type { World } from './world.ts';

/**
 * Expects that `describeAsKubectl`, from which the golden texts of the simulation come, prints an AWSFargateProfile as
 * `kubectl describe` does.
 */
export async function expectDescribed(world: World, name: string): Promise<void> {
  const { stdout } = await world.kubectl(['describe', 'awsfargateprofile', name]);
  const object = (await world.profile(name)) ?? expect.fail(`AWSFargateProfile ${name} does not exist`);
  const { items } = await world.controlPlane.api.list<DescribedEvent>('/api/v1/namespaces/default/events');
  expect(normalizeDescription(describeAsKubectl(object, items))).to.equal(normalizeDescription(stdout));
}
