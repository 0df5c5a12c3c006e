import { expect } from 'chai';
import { STAND_IN_CRDS, applyCrds, loadCrds } from '../envtest/crds.ts';
import type { CustomResourceDefinition } from '../envtest/crds.ts';
import type { KubeObject } from '../envtest/api.ts';
import { eventually } from '../support/eventually.ts';
import { callsFromNow } from '../world/calls.ts';
import { expectDescribed } from '../world/describe.ts';
import { conditionOf, messageOf, stalled, standing } from '../world/standing.ts';
import type { World } from '../world/world.ts';
import { OUR_CRD, controlPlanePath, fargateProfile, startWorld } from '../world/world.ts';
import { CAPA_CRD, PROFILES } from './profiles.ts';

const FINALIZER = 'awsfargateprofile.infrastructure.cluster.x-k8s.io';
const V1BETA1 = PROFILES.replace('v1beta2', 'v1beta1');

interface Case {
  readonly name: string;
  readonly what: string;
  readonly spec: object;
  readonly reason: string;
  readonly says: string;
  /** What a user would change. */
  readonly mend: object;
}

const numbered = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`key-${index}`, 'value']));

/** What Cluster API Provider AWS's CRD lets in and ours would refuse: each is read, and EKS or the controller says why not. */
const ACCEPTED_BY_CAPA: readonly Case[] = [
  {
    name: 'no-selectors',
    what: 'without selectors',
    spec: { selectors: undefined },
    reason: 'InvalidSpec',
    says: 'Fargate Profile requires at least one selector.',
    mend: { selectors: [{ namespace: 'default' }] },
  },
  {
    name: 'empty-selectors',
    what: 'with an empty list of selectors',
    spec: { selectors: [] },
    reason: 'InvalidSpec',
    says: 'Fargate Profile requires at least one selector.',
    mend: { selectors: [{ namespace: 'default' }] },
  },
  {
    name: 'no-namespace',
    what: 'with a selector without a namespace',
    spec: { selectors: [{ labels: { a: 'b' } }] },
    reason: 'Refused',
    says: 'Fargate Profile must have at least one selector with at least one namespace value.',
    mend: { selectors: [{ namespace: 'default' }] },
  },
  {
    name: 'six-labels',
    what: 'with six labels in a selector',
    spec: { selectors: [{ namespace: 'a', labels: { a: '', b: '', c: '', d: '', e: '', f: '' } }] },
    reason: 'Refused',
    says: 'Request contains Selector with more than 5 Label pairs',
    mend: { selectors: [{ namespace: 'a', labels: { a: '' } }] },
  },
  {
    name: 'reserved',
    what: 'with a profile name that EKS keeps for itself',
    spec: { profileName: 'eks-mine' },
    reason: 'InvalidSpec',
    says: `spec.profileName: "eks-mine": The fargate profile name starts with the reserved prefix: 'eks-'.`,
    mend: { profileName: 'mine' },
  },
  {
    name: 'bad-characters',
    what: 'with a profile name of characters that EKS does not take',
    spec: { profileName: 'with space' },
    reason: 'InvalidSpec',
    says: 'The Fargate profile name parameter contains invalid characters.',
    mend: { profileName: 'without-space' },
  },
  {
    name: 'long-name',
    what: 'with a profile name of 101 characters',
    spec: { profileName: 'x'.repeat(101), roleName: 'long-name-pods' },
    reason: 'InvalidSpec',
    says: 'The Fargate profile name parameter should not be greater than 100 characters.',
    mend: { profileName: 'x'.repeat(100) },
  },
  {
    name: 'bad-role',
    what: 'with a role name of characters that IAM does not take',
    spec: { roleName: 'a/b' },
    reason: 'InvalidSpec',
    says: 'spec.roleName: "a/b" is not a name of an IAM role',
    mend: { roleName: 'ab' },
  },
  {
    name: 'bad-path',
    what: 'with a role path without slashes',
    spec: { rolePath: 'nope' },
    reason: 'Refused',
    says: 'The specified value for path is invalid.',
    mend: { rolePath: '/nope/' },
  },
  {
    name: 'aws-tag',
    what: 'with a tag that AWS keeps for itself',
    spec: { additionalTags: { 'aws:owner': 'me' } },
    reason: 'TagsInvalid',
    says: '"aws:owner"',
    mend: { additionalTags: { 'aws:owner': null } },
  },
  {
    name: 'many-tags',
    what: 'with more tags than AWS takes, ours included',
    spec: { additionalTags: numbered(49) },
    reason: 'TagsInvalid',
    says: "51 tags, of which 2 are this controller's own, are more than the 50 AWS allows",
    mend: { additionalTags: { 'key-0': null } },
  },
  {
    name: 'long-tag',
    what: 'with a tag value of 257 characters',
    spec: { additionalTags: { long: 'x'.repeat(257) } },
    reason: 'TagsInvalid',
    says: 'the value has 257 characters, AWS allows 256',
    mend: { additionalTags: { long: 'x' } },
  },
];

interface Unreadable {
  readonly name: string;
  readonly what: string;
  readonly spec: object;
  readonly says: string;
}

/**
 * What no schema that knows the kind would let in, but the API server may hold from a time without one. Where a field has
 * another type than its rules expect, the server refuses every write of the object, that of its status too.
 */
const UNWRITABLE: readonly Unreadable[] = [
  { name: 'text-selectors', what: 'text for a list', spec: { selectors: 'all' }, says: 'spec.selectors: expected' },
  {
    name: 'number-namespace',
    what: 'a number for text',
    spec: { selectors: [{ namespace: 'a' }, { namespace: 7 }] },
    says: 'spec.selectors[1].namespace: expected string, got 7',
  },
  {
    name: 'list-tags',
    what: 'a list for a map',
    spec: { additionalTags: ['a'] },
    says: 'spec.additionalTags: expected',
  },
];
const WITHOUT_CLUSTER: Unreadable = {
  name: 'no-cluster',
  what: 'no clusterName',
  spec: { clusterName: undefined },
  says: 'spec.clusterName: expected',
};

/** A CRD without an opinion. */
const permissive = (crd: CustomResourceDefinition): CustomResourceDefinition => ({
  ...crd,
  spec: {
    ...crd.spec,
    versions: crd.spec.versions.map((version) => ({
      ...version,
      schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
    })),
  },
});

describe('an object that is not as it should be', () => {
  let world: World;
  before(async () => {
    const [standIns, capa] = await Promise.all([loadCrds(STAND_IN_CRDS), loadCrds(CAPA_CRD)]);
    world = await startWorld({
      crds: [...standIns, ...capa].map((crd) => (crd.spec.group.startsWith('cluster.') ? crd : permissive(crd))),
      config: { eks: { maxProfilesPerCluster: 50 } },
    });
    const { api } = world.controlPlane;
    await world.createEksCluster('prod');
    for (const { name, spec } of [...UNWRITABLE, WITHOUT_CLUSTER]) await api.post(V1BETA1, old(name, spec));
    await api.post(V1BETA1, old('held-unreadable', { selectors: 'all' }, { finalizers: [FINALIZER] }));
    const status = { ready: 'yes', conditions: 'none', profileName: 7 };
    await api.post(V1BETA1, { ...old('odd-status', {}), status });
    await api.patch(`${V1BETA1}/odd-status/status`, { status });
    await applyCrds(api, CAPA_CRD);
    for (const { name, spec } of ACCEPTED_BY_CAPA) await api.post(V1BETA1, old(name, spec));
    await applyCrds(api, OUR_CRD);
    await world.startManager({ flags: ['--sync-period', '1s'] });
  });
  after(() => world.finish());

  const old = (name: string, spec: object, metadata: object = {}): object => ({
    ...fargateProfile(name, spec, metadata),
    apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
  });
  const stops = (name: string, reason: string, namespace?: string): Promise<KubeObject> =>
    world.condition(name, 'Stalled', { status: 'True', reason }, namespace === undefined ? {} : { namespace });

  it('keeps nobody else from becoming Ready', async () => {
    await world.apply(fargateProfile('good'));
    await world.ready('good');
  });

  describe('of a time with a looser CRD', () => {
    for (const { name, what, spec, reason, says, mend } of ACCEPTED_BY_CAPA)
      it(`${what}: says so itself, and comes to be when it is mended`, async () => {
        const object = await stops(name, reason);
        expect(standing(object)).to.deep.equal(stalled(reason));
        expect(messageOf(object, 'Ready')).to.contain(says);
        expect((await world.event(name, 'Warning')).join('\n')).to.contain(says);
        expect(Object.keys(spec)).to.include.members(Object.keys(mend));
        await world.patch(name, { spec: mend });
        await world.ready(name);
        await world.delete(name);
        await world.gone(name);
      });

    it('can be deleted as it is', async () => {
      await applyCrds(world.controlPlane.api, CAPA_CRD);
      for (const { name, spec } of ACCEPTED_BY_CAPA) await world.controlPlane.api.post(V1BETA1, old(`${name}-2`, spec));
      await applyCrds(world.controlPlane.api, OUR_CRD);
      await Promise.all(ACCEPTED_BY_CAPA.map(({ name, reason }) => stops(`${name}-2`, reason)));
      await Promise.all(ACCEPTED_BY_CAPA.map(({ name }) => world.delete(`${name}-2`)));
      await Promise.all(ACCEPTED_BY_CAPA.map(({ name }) => world.gone(`${name}-2`)));
    });
  });

  describe('that cannot be read', () => {
    it(`${WITHOUT_CLUSTER.what}: says so itself, and nothing else is done with it`, async () => {
      const { name, says } = WITHOUT_CLUSTER;
      const object = await stops(name, 'InvalidObject');
      expect(standing(object)).to.deep.equal(stalled('InvalidObject'));
      expect(messageOf(object, 'Ready'))
        .to.match(/^The object cannot be read: /)
        .and.to.contain(says);
      expect(messageOf(object, 'Stalled')).to.equal(messageOf(object, 'Ready'));
      expect(object.metadata.finalizers).to.equal(undefined);
      expect(object.metadata.ownerReferences).to.equal(undefined);
      expect((await world.event(name, 'Warning InvalidObject')).join('\n')).to.contain(says);
      await expectDescribed(world, 'undecodable', name);
      await world.delete(name);
      await world.gone(name);
    });

    for (const { name, what, says } of UNWRITABLE)
      it(`${what}: an event says so, since nothing can be written into it`, async () => {
        expect((await world.event(name, 'Warning InvalidObject')).join('\n')).to.contain(says);
        await world.delete(name);
        await world.gone(name);
      });

    it('in its status alone: says so itself, and comes to be when that is mended', async () => {
      const object = await stops('odd-status', 'InvalidObject');
      expect(messageOf(object, 'Ready')).to.contain('status.profileName: expected string, got 7');
      await world.controlPlane.api.patch(`${PROFILES}/odd-status/status`, {
        status: { ready: null, profileName: null },
      });
      await world.patch('odd-status', { metadata: { labels: { mended: 'yes' } } });
      await world.ready('odd-status');
    });

    it('and is being deleted: keeps its finalizer until it can be read', async () => {
      await world.event('held-unreadable', 'Warning InvalidObject');
      await world.delete('held-unreadable');
      expect((await world.profile('held-unreadable'))?.metadata).to.deep.include({ finalizers: [FINALIZER] });
      await world.patch('held-unreadable', { spec: { selectors: [{ namespace: 'default' }] } });
      await world.gone('held-unreadable');
    });
  });

  describe('in a namespace whose name begins with eks-', () => {
    it('has a computed name that EKS keeps for itself: says so, and takes the one that it is given', async () => {
      await world.createNamespace('eks-apps');
      await world.createEksCluster('apps', { namespace: 'eks-apps' });
      const calls = callsFromNow(world.aws);
      await world.apply(fargateProfile('web', { clusterName: 'apps' }, { namespace: 'eks-apps' }));
      const object = await stops('web', 'InvalidSpec', 'eks-apps');
      expect(standing(object)).to.deep.equal(stalled('InvalidSpec'));
      expect(messageOf(object, 'Ready')).to.contain('"eks-apps_web"').and.to.contain('set spec.profileName');
      expect(calls.mutations()).to.deep.equal([]);
      await world.patch('web', { spec: { profileName: 'apps-web' } }, 'eks-apps');
      await world.ready('web', { namespace: 'eks-apps' });
      expect(world.inAws.profile('apps-web')).to.include({ status: 'ACTIVE' });
    });
  });

  describe('on a control plane that cannot be read', () => {
    it('says where, and goes on when that is mended', async () => {
      await world.createEksCluster('odd');
      await world.controlPlane.api.patch(controlPlanePath('odd'), { spec: { region: 7 } });
      await world.apply(fargateProfile('odd', { clusterName: 'odd' }));
      const object = await eventually(async () => {
        const now = await world.condition('odd', 'Ready', { status: 'False' });
        return messageOf(now, 'Ready').includes('spec.region: expected string, got 7') && now;
      });
      expect(messageOf(object, 'Ready')).to.contain('AWSManagedControlPlane');
      expect(conditionOf(object, 'Paused')).to.include({ status: 'False' });
      const counted = { controller: 'clusterteardown' };
      await eventually(
        async () => (await world.manager.metric('controller_runtime_terminal_reconcile_errors_total', counted)) > 0,
        { what: 'a terminal error of the teardown' },
      );
      expect(world.manager.log()).to.contain(
        'AWSManagedControlPlane default/odd-control-plane cannot be read: spec.region: expected string, got 7',
      );
      await world.controlPlane.api.patch(controlPlanePath('odd'), { spec: { region: 'us-east-1' } });
      await world.ready('odd');
    });
  });
});
