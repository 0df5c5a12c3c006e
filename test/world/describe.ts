import { expect } from 'chai';
import type { DescribedEvent } from '../support/describe.ts';
import { describeAsKubectl } from '../support/describe.ts';
import { expectGolden, steady } from '../support/golden.ts';
import type { World } from './world.ts';

/**
 * Compares what `kubectl describe` prints of a profile with the golden text of that name; and with what the tests without a
 * kubectl take for it.
 */
export async function expectDescribed(world: World, golden: string, name = golden): Promise<void> {
  const { stdout } = await world.kubectl(['describe', 'awsfargateprofile', name]);
  const text = steady(stdout);
  expectGolden(new URL(`../integration/golden/describe-${golden}.golden`, import.meta.url), text);
  const object = await world.profile(name);
  if (object === undefined) throw new Error(`${name} is gone`);
  const { items } = await world.controlPlane.api.list<DescribedEvent>('/api/v1/namespaces/default/events');
  expect(steady(describeAsKubectl(object, items)), 'as tests without a kubectl print it').to.equal(text);
}
