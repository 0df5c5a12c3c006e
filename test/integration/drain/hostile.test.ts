import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { DrainScene, EKS_CLUSTER, replacing } from '../../world/workload/drain-scene.ts';
import { startHostileApiServer } from '../../world/workload/hostile-api-server.ts';
import { fargateProfile, useWorld } from '../../world/world.ts';

describe('a drain of an EKS cluster whose API server harms its clients', () => {
  const world = useWorld();
  let scene: DrainScene;

  before(async () => {
    scene = await DrainScene.start(world, ['system:masters']);
    await scene.apply({ selectors: [{ namespace: 'default' }] });
    await world.ready('web');
  });

  it('says what is wrong, keeps other objects going, and ends when the user ends it', async () => {
    const hostile = await startHostileApiServer(scene.workload.controlPlane);
    world.addCleanup(() => hostile.close());
    const certificateAuthority = await readFile(scene.workload.controlPlane.caPath, 'base64');
    world.aws.admin.setCluster({ name: EKS_CLUSTER, apiServer: { endpoint: hostile.url, certificateAuthority } });
    hostile.mood = 'endless';
    await scene.apply(replacing('10m', 'sixth'));
    await scene.shows('returns an invalid response: listing pods: there are more than 10000 pods');
    hostile.mood = 'huge';
    await scene.shows('does not respond: listing pods: no answer: the response has more than 4194304 bytes');
    hostile.mood = 'silent';
    await scene.shows('does not respond: the list of pods: no result within 15 s');
    await world.apply(fargateProfile('other', { selectors: [{ namespace: 'other' }] }));
    await world.ready('other');
    expect(world.awsView.profile('default_web')?.status).to.equal('ACTIVE');
    await scene.apply(replacing('0s', 'sixth'));
    await scene.gone('default_web');
  });
});
