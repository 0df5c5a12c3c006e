import { expect } from 'chai';
import { clusterObject, clusterPath, fargateProfile, useWorld } from '../../world/world.ts';

/** The depth of the nested JSON. The API server accepts JSON up to a depth of 10,000. */
const DEPTH = 9_000;

describe('an object that is nested too deeply for recursion', () => {
  const world = useWorld();
  before(async () => {
    await world.createEksCluster('prod');
    await world.startManager();
    await world.apply(fargateProfile('web'));
    await world.ready('web');
  });

  /**
   * Creates a Cluster with a deeply nested value. The test builds its JSON as text, because `JSON.stringify` is
   * recursive and would fail.
   */
  async function createDeepCluster(name: string): Promise<void> {
    const marker = 'here';
    const object = JSON.stringify({ ...clusterObject(name), spec: { topology: { variables: marker } } });
    const body = object.replace(JSON.stringify(marker), '['.repeat(DEPTH) + ']'.repeat(DEPTH));
    await world.controlPlane.api.post(clusterPath('').replace(/\/$/, ''), body);
  }

  it('does not crash the manager or prevent other objects from becoming Ready', async () => {
    await createDeepCluster('deep');
    await world.apply(fargateProfile('of-deep', { clusterName: 'deep' }));
    await world.condition('of-deep', 'Ready', { status: 'False', reason: 'WaitingForEKSControlPlane' });
    await world.apply(fargateProfile('later'));
    await world.ready('later');
  });

  it('does not crash a manager that starts', async () => {
    await world.stopManager();
    await world.startManager();
    await world.apply(fargateProfile('latest'));
    await world.ready('latest');
    expect(world.manager.log()).to.not.contain('Maximum call stack');
  });
});
