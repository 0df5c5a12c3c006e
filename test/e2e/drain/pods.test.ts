import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { PAUSED_ANNOTATION } from '../../../api/v1beta2/index.ts';
import { eventually } from '../../support/eventually.ts';
import { POD_SPEC, type WorkloadCluster } from '../../world/workload/workload-cluster.ts';
import { useWorld } from '../../world/world.ts';
import { DrainScene, replacing } from '../../world/workload/drain-scene.ts';

const [FIRST, SECOND, THIRD, FOURTH, FIFTH] = [
  'default_web',
  '9999-default_web',
  '9998-default_web',
  '9997-default_web',
  '9996-default_web',
] as const;

/**
 * The time limit for the drain of 500 pods, equal to its `drainTimeout`. The evictions take long on a machine that runs
 * other tests too.
 */
const DRAIN_LIMIT_MS = 30 * 60_000;

describe('a drain of different pods, past pauses and crashes', () => {
  const world = useWorld();
  let scene: DrainScene;
  let workload: WorkloadCluster;

  before(async () => {
    scene = await DrainScene.start(world, ['system:masters']);
    ({ workload } = scene);
    await scene.apply({ selectors: [{ namespace: 'default' }] });
    await world.ready('web');
    await workload.deploy('web', 3);
    await workload.protect('web', 2);
    await scene.readyOn(FIRST, 3);
  });

  it('goes on after a crash of the manager at each eviction, with the same end', async () => {
    workload.watchReady();
    const first = await workload.readyOn(FIRST);
    const ends = new Set<string | undefined>();
    await scene.apply(replacing('5m', 'second'));
    for (let evicted = 0; evicted < first.length;) {
      const staying = await eventually(
        async () => {
          const pods = await workload.pods();
          const names = pods
            .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
            .map(({ metadata }) => metadata.name)
            .filter((name) => first.includes(name));
          return names.length < first.length - evicted && names;
        },
        { what: 'the next eviction', intervalMs: 50 },
      );
      evicted = first.length - staying.length;
      const message = await scene.shows('deletes "default_web" at');
      ends.add(/ at \S+ at the latest/.exec(message)?.[0]);
      await scene.crash();
    }
    await scene.gone(FIRST);
    await scene.readyOn(SECOND, 3);
    expect(workload.fewestReady).to.equal(2);
    expect([...ends]).to.have.length(1);
  });

  it('does not evict bare pods and pods of Jobs, and names them when EKS stops them', async () => {
    const { api } = workload.controlPlane;
    await api.apply('/api/v1/namespaces/default/pods/bare', {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'bare', namespace: 'default' },
      spec: POD_SPEC,
    });
    await api.apply('/apis/batch/v1/namespaces/default/jobs/once', {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'once', namespace: 'default' },
      spec: { backoffLimit: 0, template: { spec: { ...POD_SPEC, restartPolicy: 'Never' } } },
    });
    await scene.readyOn(SECOND, 5);
    await scene.apply(replacing('5m', 'third'));
    await scene.gone(SECOND);
    const ended = (await world.event('web', 'EndedDrain')).findLast((event) => event.includes('EndedDrain'));
    expect(ended).to.match(
      /is left that can move to 9998-default_web\. With the profile, EKS stops 2 pods: default\/bare, default\/once-\w+$/,
    );
    await scene.readyOn(THIRD, 3);
  });

  it('evicts nothing while the object is paused', async () => {
    await workload.protect('web', '100%');
    await scene.apply(replacing('5m', 'fourth'));
    await scene.shows('The disruption budget web needs 3 healthy pods and has 3 currently');
    await world.patch('web', { metadata: { annotations: { [PAUSED_ANNOTATION]: '' } } });
    await world.condition('web', 'Paused', { status: 'True' });
    await workload.protect('web', 2);
    const { accepted } = workload.authenticator;
    // The pause is longer than 10 s, the interval at which a drain checks its pods.
    await delay(15_000);
    expect(workload.authenticator.accepted).to.equal(accepted);
    expect(await workload.readyOn(THIRD)).to.have.length(3);
    await world.patch('web', { metadata: { annotations: { [PAUSED_ANNOTATION]: null } } });
    await scene.gone(THIRD);
    await scene.readyOn(FOURTH, 3);
  });

  it('moves 500 pods, and never fewer are Ready than their PodDisruptionBudget demands', async function () {
    this.timeout(2 * DRAIN_LIMIT_MS);
    await workload.protect('web', 400);
    await workload.deploy('web', 500);
    await scene.readyOn(FOURTH, 500);
    workload.fewestReady = Number.POSITIVE_INFINITY;
    await scene.apply(replacing('30m', 'fifth'));
    await scene.gone(FOURTH, DRAIN_LIMIT_MS);
    await scene.readyOn(FIFTH, 500);
    expect(workload.fewestReady).to.be.at.least(400);
  });
});
