import { expect } from 'chai';
import { fieldAt } from 'controller-runtime/json';
import { PLURAL } from '../../api/v1beta2/index.ts';
import { CLUSTER, EKS_CLUSTER, MINUTE, createCluster } from './world/cluster.ts';
import { it } from './world/it.ts';
import type { SimulatedWorld } from './world/simulated-world.ts';
import { ROLE, WEB, patchWeb, startUntilReady } from './phases/phase.ts';

const statusOf = (world: SimulatedWorld, ...path: readonly string[]): unknown =>
  ['status', ...path].reduce<unknown>(fieldAt, world.profile(WEB));

describe('a live profile', () => {
  it('stays Ready and unchanged in AWS when the spec says the same in other words', async (world) => {
    await startUntilReady(world, {
      selectors: [{ namespace: 'web' }, { namespace: 'batch', labels: { app: 'jobs' } }],
    });
    const before = world.mutations().length;
    const subnets = statusOf(world, 'subnets');
    expect(subnets).to.be.an('array').with.length.greaterThan(1);
    const specs: readonly Readonly<Record<string, unknown>>[] = [
      {
        selectors: [
          { namespace: 'web', labels: {} },
          { namespace: 'batch', labels: { app: 'jobs' } },
        ],
      },
      { selectors: [{ namespace: 'batch', labels: { app: 'jobs' } }, { namespace: 'web' }] },
      { subnetIDs: Array.isArray(subnets) ? subnets.toReversed() : undefined },
      { subnetIDs: [] },
      { rolePath: '/' },
      { rolePath: '' },
      { roleName: ROLE, profileName: statusOf(world, 'profileName') },
      { roleName: null, profileName: null },
      { adoptionPolicy: 'Owned', deletionPolicy: 'Delete', updateStrategy: { type: 'Reject' } },
      { additionalTags: {}, roleAdditionalPolicies: [] },
    ];
    for (const [index, spec] of specs.entries()) {
      patchWeb(world, { spec });
      await world.until(JSON.stringify(spec), () => statusOf(world, 'observedGeneration') === 2 + index);
      await world.clock.advance(30 * MINUTE);
      expect(world.condition(WEB), JSON.stringify(spec)).to.include({ status: 'True', observedGeneration: 2 + index });
    }
    expect(world.mutations()).to.have.length(before);
  });

  it('notices the authentication mode of an EKS cluster that was recreated under the same name', async (world) => {
    await startUntilReady(world, { rolePath: '/team-a/' });
    world.remove(PLURAL, WEB);
    await world.gone(WEB);
    world.aws.admin.removeCluster({ name: EKS_CLUSTER });
    world.remove('awsmanagedcontrolplanes', `${CLUSTER}-control-plane`);
    world.remove('clusters', CLUSTER);
    await world.until('the control plane gone', () => world.objects('awsmanagedcontrolplanes').length === 0);
    createCluster(world);
    world.aws.admin.setCluster({ name: EKS_CLUSTER, authenticationMode: 'CONFIG_MAP' });
    world.applyWith(WEB, { rolePath: '/team-a/' });
    await world.until('the mode of the new EKS cluster', () => world.condition(WEB)?.reason === 'RolePathNotMapped');
    patchWeb(world, { spec: { rolePath: null } });
    await world.ready(WEB);
  });
});
