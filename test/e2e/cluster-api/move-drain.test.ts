import { expect } from 'chai';
import { skipIfBinariesMissing } from '../../envtest/skip.ts';
import { endAll } from '../../support/end-all.ts';
import { eventually } from '../../support/eventually.ts';
import { callsFromNow } from '../../world/aws/calls.ts';
import { operationsOf } from '../../world/aws/operations.ts';
import { startCapaSimulatorIn } from '../../world/cluster-api/capa-simulator.ts';
import { type MovableProvider, findProvider } from '../../world/cluster-api/clusterctl/clusterctl.ts';
import { startInstalledManager } from '../../world/cluster-api/clusterctl/installed-provider.ts';
import { createManagedCluster, simulateCoreManager } from '../../world/cluster-api/managed-cluster.ts';
import { WorkloadCluster } from '../../world/workload/workload-cluster.ts';
import { type World, fargateProfile } from '../../world/world.ts';

const OLD = 'default_web';
const NEW = '9999-default_web';

const drained = (...namespaces: readonly string[]): object =>
  fargateProfile('web', {
    selectors: ['default', ...namespaces].map((namespace) => ({ namespace })),
    updateStrategy: { type: 'Replace', replace: { drainTimeout: '10m' } },
  });

describe('clusterctl move while a manager drains a predecessor', () => {
  let home: World;
  let away: World;
  let provider: MovableProvider;

  before(async function () {
    provider = await findProvider().catch(skipIfBinariesMissing(this));
    home = await provider.startWorld();
    away = await provider.startWorld({ shareAwsWith: home });
    for (const world of [home, away]) {
      await startInstalledManager(world);
      const capa = startCapaSimulatorIn(world);
      world.addCleanup(() => capa.stop());
    }
  });
  after(() =>
    endAll(
      () => away.finish(),
      () => home.finish(),
      () => provider.close(),
    ),
  );

  /** The message of a drain that waits for the PodDisruptionBudget `web`. */
  const waitsForBudget = (world: World): Promise<string> =>
    eventually(
      async () => {
        const object = await world.profile('web');
        const ready = object?.status?.conditions?.find(({ type }) => type === 'Ready');
        const { reason, message = '' } = ready ?? {};
        if (reason === 'Draining' && message.includes('The disruption budget web needs')) return message;
        throw new Error(`${reason}: ${message}`);
      },
      { what: 'a drain that waits for the PodDisruptionBudget' },
    );

  it('continues the drain at the target, with the same end of drainTimeout, and stops no pod', async () => {
    const cluster = await createManagedCluster(home, 'prod', { simulatesCoreManager: true });
    const workload = await WorkloadCluster.start(home.aws.admin, { name: cluster.eksName, groups: ['system:masters'] });
    home.addCleanup(() => workload.stop());
    await workload.startControllers();
    await home.apply(drained());
    await home.ready('web');
    await workload.deploy('web', 2);
    await workload.protect('web', 2);
    const readyOn = (profile: string, count: number): Promise<boolean> =>
      eventually(async () => (await workload.readyOn(profile)).length === count);
    await readyOn(OLD, 2);
    await home.apply(drained('more'));
    const before = await waitsForBudget(home);
    workload.watchReady();

    await simulateCoreManager(home, cluster);
    const calls = callsFromNow(home.aws);
    await provider.move(home.controlPlane, away.controlPlane);
    expect(await home.profiles()).to.deep.equal([]);
    expect(await waitsForBudget(away), 'the message names the time at which the drain ends').to.equal(before);
    expect(operationsOf(calls)).to.deep.equal([]);

    await workload.protect('web', 1);
    await readyOn(NEW, 2);
    await eventually(() => home.awsView.profile(OLD) === undefined);
    expect(workload.fewestReady).to.be.at.least(1);
    expect(await away.event('web', 'EndedDrain')).to.include(
      `Normal EndedDrain: No pod of EKS fargate profile ${OLD} is left that can move to ${NEW}. With the profile, EKS stops 0 pods`,
    );
    await away.delete('web');
    await away.gone('web');
  });
});
