import { expect } from 'chai';
import type { DescribedEvent } from '../support/kubectl-describe.ts';
import { describeAsKubectl } from '../support/kubectl-describe.ts';
import { expectGolden, normalizeDescription } from '../support/golden.ts';
import type { World } from './world.ts';

/**
 * Compares the output of `kubectl describe` for an AWSFargateProfile with a golden file. Also checks that
 * `describeAsKubectl` prints the same text, because tests that run without kubectl rely on this function.
 */
export async function expectDescribed(world: World, golden: string, name = golden): Promise<void> {
  const { stdout } = await world.kubectl(['describe', 'awsfargateprofile', name]);
  const text = normalizeDescription(stdout);
  expectGolden(new URL(`../integration/golden/describe-${golden}.golden`, import.meta.url), text);
  const object = await world.profile(name);
  if (object === undefined) throw new Error(`AWSFargateProfile ${name} does not exist`);
  const { items } = await world.controlPlane.api.list<DescribedEvent>('/api/v1/namespaces/default/events');
  expect(normalizeDescription(describeAsKubectl(object, items)), 'the output of describeAsKubectl').to.equal(text);
}
