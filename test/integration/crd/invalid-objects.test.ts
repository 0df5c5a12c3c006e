import { expect } from 'chai';
import { STAND_IN_CRDS, applyCrds, loadCrds } from '../../envtest/clients/crds.ts';
import type { CrdManifest } from '../../envtest/clients/crds.ts';
import type { RawObject } from '../../envtest/clients/api.ts';
import { eventually } from '../../support/eventually.ts';
import { callsFromNow } from '../../world/aws/calls.ts';
import { expectDescribed } from '../../world/expect-described.ts';
import { conditionOf, messageOf, stalled, summaryOf } from '../../world/object-state.ts';
import type { World } from '../../world/world.ts';
import { OUR_CRD, controlPlanePath, fargateProfile, startWorld } from '../../world/world.ts';
import { CAPA_CRD, PROFILES } from './profiles.ts';

const FINALIZER = 'awsfargateprofile.infrastructure.cluster.x-k8s.io';
const V1BETA1 = PROFILES.replace('v1beta2', 'v1beta1');

interface Case {
  readonly name: string;
  readonly what: string;
  readonly spec: object;
  readonly reason: string;
  readonly message: string;
  /** The fields with which a user corrects the invalid object. */
  readonly fix: object;
}

const numbered = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`key-${index}`, 'value']));

/**
 * AWSFargateProfiles that the CRD of Cluster API Provider AWS accepts and the CRD of this project refuses. They can
 * exist from the time before this project's CRD was installed. The controller must report their errors.
 */
const ACCEPTED_BY_CAPA: readonly Case[] = [
  {
    name: 'no-selectors',
    what: 'without selectors',
    spec: { selectors: undefined },
    reason: 'InvalidSpec',
    message: 'spec.selectors is empty, but a Fargate profile requires at least one selector',
    fix: { selectors: [{ namespace: 'default' }] },
  },
  {
    name: 'empty-selectors',
    what: 'with an empty list of selectors',
    spec: { selectors: [] },
    reason: 'InvalidSpec',
    message: 'spec.selectors is empty, but a Fargate profile requires at least one selector',
    fix: { selectors: [{ namespace: 'default' }] },
  },
  {
    name: 'no-namespace',
    what: 'with a selector without a namespace',
    spec: { selectors: [{ labels: { a: 'b' } }] },
    reason: 'Refused',
    message: 'Fargate Profile must have at least one selector with at least one namespace value.',
    fix: { selectors: [{ namespace: 'default' }] },
  },
  {
    name: 'six-labels',
    what: 'with six labels in a selector',
    spec: { selectors: [{ namespace: 'a', labels: { a: '', b: '', c: '', d: '', e: '', f: '' } }] },
    reason: 'Refused',
    message: 'Request contains Selector with more than 5 Label pairs',
    fix: { selectors: [{ namespace: 'a', labels: { a: '' } }] },
  },
  {
    name: 'reserved',
    what: 'with a reserved prefix in the profile name',
    spec: { profileName: 'eks-mine' },
    reason: 'InvalidSpec',
    message: `spec.profileName: EKS does not allow the name "eks-mine": The fargate profile name starts with the reserved prefix: 'eks-'.`,
    fix: { profileName: 'mine' },
  },
  {
    name: 'bad-characters',
    what: 'with invalid characters in the profile name',
    spec: { profileName: 'with space' },
    reason: 'InvalidSpec',
    message: 'The Fargate profile name parameter contains invalid characters.',
    fix: { profileName: 'without-space' },
  },
  {
    name: 'long-name',
    what: 'with a profile name of 101 characters',
    spec: { profileName: 'x'.repeat(101), roleName: 'long-name-pods' },
    reason: 'InvalidSpec',
    message: 'The Fargate profile name parameter should not be greater than 100 characters.',
    fix: { profileName: 'x'.repeat(100) },
  },
  {
    name: 'bad-role',
    what: 'with invalid characters in the role name',
    spec: { roleName: 'a/b' },
    reason: 'InvalidSpec',
    message: 'spec.roleName: "a/b" is not a valid IAM role name',
    fix: { roleName: 'ab' },
  },
  {
    name: 'bad-path',
    what: 'with a role path without slashes',
    spec: { rolePath: 'nope' },
    reason: 'Refused',
    message: 'The specified value for path is invalid.',
    fix: { rolePath: '/nope/' },
  },
  {
    name: 'aws-tag',
    what: 'with a reserved prefix in a tag key',
    spec: { additionalTags: { 'aws:owner': 'me' } },
    reason: 'TagsInvalid',
    message: '"aws:owner"',
    fix: { additionalTags: { 'aws:owner': null } },
  },
  {
    name: 'many-tags',
    what: 'with more tags than AWS allows, tags of the controller included',
    spec: { additionalTags: numbered(48) },
    reason: 'TagsInvalid',
    message: 'there are 51 tags (3 of them from this controller), but AWS allows only 50',
    fix: { additionalTags: { 'key-0': null } },
  },
  {
    name: 'long-tag',
    what: 'with a tag value of 257 characters',
    spec: { additionalTags: { long: 'x'.repeat(257) } },
    reason: 'TagsInvalid',
    message: 'the value has 257 characters, but AWS allows only 256',
    fix: { additionalTags: { long: 'x' } },
  },
];

interface UndecodableCase {
  readonly name: string;
  readonly what: string;
  readonly spec: object;
  readonly message: string;
}

/**
 * Objects that the API server accepts only while the CRD has no schema, and that stay stored when the schema is
 * applied. In each, a field has another type than the validation rules expect. The API server refuses every write of
 * such an object, even of its status.
 */
const UNWRITABLE: readonly UndecodableCase[] = [
  { name: 'text-selectors', what: 'text for a list', spec: { selectors: 'all' }, message: 'spec.selectors: expected' },
  {
    name: 'number-namespace',
    what: 'a number for text',
    spec: { selectors: [{ namespace: 'a' }, { namespace: 7 }] },
    message: 'spec.selectors[1].namespace: expected string, got 7',
  },
  {
    name: 'list-tags',
    what: 'a list for a map',
    spec: { additionalTags: ['a'] },
    message: 'spec.additionalTags: expected',
  },
];
/** Returns the CRD with schemas that accept any object. */
const withoutSchema = (crd: CrdManifest): CrdManifest => ({
  ...crd,
  spec: {
    ...crd.spec,
    versions: crd.spec.versions.map((version) => ({
      ...version,
      schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
    })),
  },
});

describe('an invalid AWSFargateProfile', () => {
  let world: World;
  before(async () => {
    const [standIns, capa] = await Promise.all([loadCrds(STAND_IN_CRDS), loadCrds(CAPA_CRD)]);
    world = await startWorld({
      crds: [...standIns, ...capa].map((crd) => (crd.spec.group.startsWith('cluster.') ? crd : withoutSchema(crd))),
      config: { eks: { maxProfilesPerCluster: 50 } },
    });
    const { api } = world.controlPlane;
    await world.createEksCluster('prod');
    for (const { name, spec } of [...UNWRITABLE, { name: 'no-cluster', spec: { clusterName: undefined } }])
      await api.post(V1BETA1, old(name, spec));
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
  const waitForStalled = (name: string, reason: string, namespace?: string): Promise<RawObject> =>
    world.condition(name, 'Stalled', { status: 'True', reason }, namespace === undefined ? {} : { namespace });

  it('does not prevent other objects from becoming Ready', async () => {
    await world.apply(fargateProfile('good'));
    await world.ready('good');
  });

  describe('created with a looser CRD', () => {
    for (const { name, what, spec, reason, message, fix } of ACCEPTED_BY_CAPA)
      it(`${what}: reports the error and becomes Ready once it is corrected`, async () => {
        const object = await waitForStalled(name, reason);
        expect(summaryOf(object)).to.deep.equal(stalled(reason));
        expect(messageOf(object, 'Ready')).to.contain(message);
        expect((await world.event(name, 'Warning')).join('\n')).to.contain(message);
        expect(Object.keys(spec)).to.include.members(Object.keys(fix));
        await world.patch(name, { spec: fix });
        await world.ready(name);
        await world.delete(name);
        await world.gone(name);
      });

    it('names no cluster: reports the error, and nothing else changes', async () => {
      const object = await waitForStalled('no-cluster', 'ClusterNotNamed');
      expect(summaryOf(object)).to.deep.equal(stalled('ClusterNotNamed'));
      expect(messageOf(object, 'Ready')).to.match(/^The spec has neither clusterName nor eksCluster\./);
      expect(messageOf(object, 'Stalled')).to.equal(messageOf(object, 'Ready'));
      expect(object.metadata.finalizers).to.equal(undefined);
      expect(object.metadata.ownerReferences).to.equal(undefined);
      expect((await world.event('no-cluster', 'Warning ClusterNotNamed')).join('\n')).to.contain('spec.eksCluster');
      await world.delete('no-cluster');
      await world.gone('no-cluster');
    });

    it('can be deleted unchanged', async () => {
      await applyCrds(world.controlPlane.api, CAPA_CRD);
      for (const { name, spec } of ACCEPTED_BY_CAPA) await world.controlPlane.api.post(V1BETA1, old(`${name}-2`, spec));
      await applyCrds(world.controlPlane.api, OUR_CRD);
      await Promise.all(ACCEPTED_BY_CAPA.map(({ name, reason }) => waitForStalled(`${name}-2`, reason)));
      await Promise.all(ACCEPTED_BY_CAPA.map(({ name }) => world.delete(`${name}-2`)));
      await Promise.all(ACCEPTED_BY_CAPA.map(({ name }) => world.gone(`${name}-2`)));
    });
  });

  describe('that cannot be decoded', () => {
    for (const { name, what, message } of UNWRITABLE)
      it(`${what}: an event reports the error, because the API server refuses every write of the object`, async () => {
        expect((await world.event(name, 'Warning InvalidObject')).join('\n')).to.contain(message);
        await world.delete(name);
        await world.gone(name);
      });

    it('because of its status: reports the error and becomes Ready once the status is corrected', async () => {
      const object = await waitForStalled('odd-status', 'InvalidObject');
      expect(messageOf(object, 'Ready'))
        .to.match(/^The controller cannot read this AWSFargateProfile: /)
        .and.to.contain('status.profileName: expected string, got 7');
      expect(messageOf(object, 'Stalled')).to.equal(messageOf(object, 'Ready'));
      expect(object.metadata.finalizers).to.equal(undefined);
      expect((await world.event('odd-status', 'Warning InvalidObject')).join('\n')).to.contain('status.profileName');
      await expectDescribed(world, 'undecodable', 'odd-status');
      await world.controlPlane.api.patch(`${PROFILES}/odd-status/status`, {
        status: { ready: null, profileName: null },
      });
      await world.patch('odd-status', { metadata: { labels: { mended: 'yes' } } });
      await world.ready('odd-status');
    });

    it('keeps its finalizer during a deletion until it can be decoded', async () => {
      await world.event('held-unreadable', 'Warning InvalidObject');
      await world.delete('held-unreadable');
      expect((await world.profile('held-unreadable'))?.metadata).to.deep.include({ finalizers: [FINALIZER] });
      await world.patch('held-unreadable', { spec: { selectors: [{ namespace: 'default' }] } });
      await world.gone('held-unreadable');
    });
  });

  describe('in a namespace whose name begins with eks-', () => {
    it('has a computed name with the reserved prefix: reports that and becomes Ready with spec.profileName', async () => {
      await world.createNamespace('eks-apps');
      await world.createEksCluster('apps', { namespace: 'eks-apps' });
      const calls = callsFromNow(world.aws);
      await world.apply(fargateProfile('web', { clusterName: 'apps' }, { namespace: 'eks-apps' }));
      const object = await waitForStalled('web', 'InvalidSpec', 'eks-apps');
      expect(summaryOf(object)).to.deep.equal(stalled('InvalidSpec'));
      expect(messageOf(object, 'Ready')).to.contain('"eks-apps_web"').and.to.contain('spec.profileName is not set');
      expect(calls.mutations()).to.deep.equal([]);
      await world.patch('web', { spec: { profileName: 'apps-web' } }, 'eks-apps');
      await world.ready('web', { namespace: 'eks-apps' });
      expect(world.awsView.profile('apps-web')).to.include({ status: 'ACTIVE' });
    });
  });

  describe('with a control plane that cannot be decoded', () => {
    it('reports the field and becomes Ready once it is corrected', async () => {
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
      const unreadable = () => world.manager.metric('capaf_unreadable_objects', { kind: 'AWSManagedControlPlane' });
      expect(await unreadable()).to.equal(1);
      await world.controlPlane.api.patch(controlPlanePath('odd'), { spec: { region: 'us-east-1' } });
      await world.ready('odd');
      expect(await unreadable()).to.equal(0);
    });
  });
});
