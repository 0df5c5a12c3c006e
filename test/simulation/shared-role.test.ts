import { expect } from 'chai';
import { PAUSED_ANNOTATION, PLURAL } from '../../api/v1beta2/index.ts';
import { sleep } from '../../pkg/async/deadline.ts';
import { CAPA_SHARED_ROLE } from '../../pkg/fargate/names.ts';
import { CAPA_TRUST } from '../world/aws/capa-resources.ts';
import { CLUSTER, EKS_CLUSTER, SECOND } from './world/cluster.ts';
import { SimulatedWorld } from './world/simulated-world.ts';

describe('a role shared by two objects', () => {
  it('is deleted when both objects are deleted, even if the first finalizer removal takes long', async () => {
    const names = ['a', 'b'];
    const world = new SimulatedWorld({ aws: { latencyMs: 5 } });
    // While EKS creates the Fargate profile of another client, the AWSFargateProfiles `a` and `b` wait and have no
    // Fargate profile yet. So the manager can delete `a` and `b` at the same time, because EKS need not delete two
    // Fargate profiles one after the other.
    world.aws.admin.putProfile({
      cluster: EKS_CLUSTER,
      name: 'theirs',
      podExecutionRoleArn: 'arn:aws:iam::123456789012:role/theirs',
      status: 'CREATING',
    });
    world.start();
    for (const name of names) world.applyWith(name, { roleName: 'shared-pods' });
    await world.until('both wait for their turn', () =>
      names.every((name) => world.condition(name)?.reason === 'WaitingForSibling'),
    );
    expect(world.aws.admin.roles().some(({ name }) => name === 'shared-pods')).to.equal(true);

    let releases = 0;
    world.api.intercept = async ({ method, body, signal }) => {
      const isRelease = method === 'PATCH' && String(body).includes('"finalizers"');
      if (isRelease) releases += 1;
      if (isRelease && releases === 1) await sleep(world.clock, 3 * SECOND, signal);
      return undefined;
    };
    world.delete(...names);
    await world.gone(...names);
    expect(releases).to.be.at.least(2);
    expect(world.aws.admin.roles().some(({ name }) => name === 'shared-pods')).to.equal(false);
    world.aws.admin.removeProfile({ cluster: EKS_CLUSTER, name: 'theirs' });
    await world.finish();
  });

  it('is kept for an object that names it while the watch of the manager is silent', async () => {
    const world = new SimulatedWorld({
      aws: { latencyMs: 5, eks: { createMs: 5 * SECOND, deleteMs: 10 * SECOND } },
    });
    // The manager has to find the AWSFargateProfiles that use a role. It looks in its cache only if the cache has more
    // than 50 AWSFargateProfiles. Otherwise it lists the AWSFargateProfiles from the API server.
    for (let index = 0; index < 50; index++) {
      world.create(PLURAL, {
        metadata: { name: `paused-${index}`, annotations: { [PAUSED_ANNOTATION]: '' } },
        spec: { clusterName: CLUSTER, selectors: [{ namespace: 'paused' }] },
      });
    }
    world.start();
    world.applyWith('a', { roleName: 'shared-pods' });
    await world.ready('a');
    const roleARN = world.aws.admin.roles().find(({ name }) => name === 'shared-pods')?.arn;
    world.delete('a');
    await world.clock.advance(SECOND);
    world.applyWith('b', { roleName: 'b-pods' });
    await world.until('b waits for its turn', () => world.condition('b')?.reason === 'WaitingForSibling');
    world.api.watchLag = 30 * SECOND;
    world.patch(PLURAL, 'b', { spec: { roleName: null, roleARN } });
    await world.gone('a');
    expect(world.aws.admin.roles().map(({ name }) => name)).to.include('shared-pods');
    world.api.watchLag = 5;
    world.delete('b');
    await world.gone('b');
    world.aws.admin.removeRole({ name: 'shared-pods' });
    world.delete(...Array.from({ length: 50 }, (_, index) => `paused-${index}`));
    await world.finish();
  });

  it('that is foreign is never tagged, although the objects have different tags', async () => {
    const world = new SimulatedWorld();
    world.aws.admin.putRole({ name: CAPA_SHARED_ROLE, trustPolicy: CAPA_TRUST });
    world.start();
    for (const name of ['a', 'b']) {
      world.applyWith(name, { roleName: CAPA_SHARED_ROLE, rolePath: `/${name}/`, additionalTags: { app: name } });
      await world.ready(name);
    }
    const tagsOf = (name: string) =>
      world.aws.admin.profiles().find((profile) => profile.name === `default_${name}`)?.tags;
    expect([tagsOf('a')?.['app'], tagsOf('b')?.['app']]).to.deep.equal(['a', 'b']);
    world.delete('a', 'b');
    await world.gone('a', 'b');
    expect(new Set(world.mutations().map(({ operation }) => operation))).to.deep.equal(
      new Set(['CreateFargateProfile', 'DeleteFargateProfile']),
    );
    world.aws.admin.removeRole({ name: CAPA_SHARED_ROLE });
    await world.finish();
  });

  const quarrels: readonly (readonly [what: string, controlPlane: object, older: object, younger: object])[] = [
    ['a key in upper and lower case, which IAM takes for one', {}, { Team: 'a' }, { team: 'b' }],
    ['a tag that one has from the control plane and the other of its own', { team: 'platform' }, { team: 'a' }, {}],
  ];
  for (const [what, controlPlane, older, younger] of quarrels)
    it(`keeps its tags with ${what}: the younger object gets RoleSettingsConflict`, async () => {
      const world = new SimulatedWorld();
      world.patch('awsmanagedcontrolplanes', `${CLUSTER}-control-plane`, { spec: { additionalTags: controlPlane } });
      world.start();
      world.applyWith('older', { roleName: 'shared-pods', additionalTags: older });
      await world.ready('older');
      world.applyWith('younger', { roleName: 'shared-pods', additionalTags: younger });
      await world.until('Stalled is True', () => world.condition('younger', 'Stalled')?.status === 'True');
      expect(world.condition('younger')?.reason).to.equal('RoleSettingsConflict');
      world.delete('older');
      await world.gone('older');
      await world.ready('younger');
      await world.deleteAndFinish('younger');
    });
});
