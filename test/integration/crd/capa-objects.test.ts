import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { isLeft, isRight } from 'fp-ts/lib/Either.js';
import { stringify } from 'yaml';
import { decodeAWSFargateProfile, describeProblem } from '../../../api/v1beta2/index.ts';
import { takeBlocks } from '../../docs/blocks.ts';
import type { ApiResponse, RawObject } from '../../envtest/clients/api.ts';
import type { ControlPlane } from '../../envtest/control-plane/controlplane.ts';
import { applyCrds, loadCrds, type CrdManifest } from '../../envtest/clients/crds.ts';
import { kubectl } from '../../envtest/clients/kubectl.ts';
import { EMPTY_SET_UP, acquireControlPlane } from '../../envtest/control-plane/pool.ts';
import { eventually } from '../../support/eventually.ts';
import { PROFILE_CRD } from '../../world/cluster-api/capa-installation.ts';
import { OUR_CRD } from '../../world/world.ts';
import { CAPA_CRD, PROFILES, causesOf, profile, type Draft } from './profiles.ts';

type Fields = Readonly<Record<string, unknown>>;

const STORED_AS_V1BETA1 = PROFILES.replace('v1beta2', 'v1beta1');
const FINALIZER = 'awsfargateprofile.infrastructure.cluster.x-k8s.io';

const storedAs = (version: string, crd: CrdManifest): CrdManifest => ({
  ...crd,
  spec: { ...crd.spec, versions: crd.spec.versions.map((v) => ({ ...v, storage: v.name === version })) },
});

const withFinalizer = (object: Draft): Draft => ({
  ...object,
  metadata: { ...object.metadata, finalizers: [FINALIZER] },
});

/** Returns an object with the name `copy` and the spec of the given object. */
const copyOf = ({ apiVersion, kind, spec }: RawObject): object => ({
  apiVersion,
  kind,
  metadata: { name: 'copy' },
  spec,
});

const OLD_CONDITION = {
  type: 'Ready',
  status: 'False',
  severity: 'Error',
  reason: 'EKSFargateReconciliationFailed',
  message: 'failed',
  lastTransitionTime: '2024-01-02T03:04:05Z',
};

const SELECTED = { selectors: [{ namespace: 'a' }] };
const MANY = Array.from({ length: 300 }, (_, index) => `tag-${index}`);
const LONG_KEY = 'k'.repeat(200);

/**
 * AWSFargateProfiles that the CRD of Cluster API Provider AWS accepts and the CRD of this project refuses, with the
 * change that corrects the object, and with another change (default: a new tag).
 */
const OLD_OBJECTS: readonly (readonly [what: string, name: string, spec: Fields, fix: Fields, other?: Fields])[] = [
  ['without selectors', 'no-selectors', { selectors: undefined }, SELECTED],
  ['with an empty list of selectors', 'empty-selectors', { selectors: [] }, SELECTED],
  [
    'with six labels, two of them invalid',
    'six-labels',
    { selectors: [{ namespace: 'a', labels: { a: '', b: '', c: '', d: '', '-': '', 'f g': '' } }] },
    SELECTED,
  ],
  [
    'with a label value that no pod can have',
    'label-of-template',
    { selectors: [{ namespace: 'a', labels: { app: '${APP}' } }] },
    SELECTED,
  ],
  [
    'with selectors that have a missing, empty or invalid namespace',
    'odd-namespaces',
    { selectors: [{}, { namespace: '' }, { namespace: 'A b' }] },
    SELECTED,
  ],
  [
    'with invalid tags',
    'odd-tags',
    { additionalTags: { 'aws:a': 'b', 'kubernetes.io/cluster/x': 'owned', [LONG_KEY]: 'v'.repeat(300), 'ü;': '' } },
    { additionalTags: { 'aws:a': null, 'kubernetes.io/cluster/x': null, [LONG_KEY]: null, 'ü;': null } },
    { profileName: 'default_odd-tags' },
  ],
  [
    'with more tags than AWS allows',
    'many-tags',
    { additionalTags: Object.fromEntries(MANY.map((key) => [key, 'v'])) },
    { additionalTags: Object.fromEntries(MANY.map((key, index) => [key, index < 47 ? 'v' : null])) },
    { profileName: 'default_many-tags' },
  ],
  [
    'with invalid names, subnets and boundary',
    'bad-names',
    {
      profileName: `eks-${'ä.'.repeat(60)}`,
      roleName: `a/${'b'.repeat(70)}`,
      rolePath: 'p',
      rolePermissionsBoundary: 'boundary',
      subnetIDs: ['', 'vpc-1'],
    },
    { profileName: 'a', roleName: 'b', rolePath: '/p/', rolePermissionsBoundary: null, subnetIDs: ['subnet-1'] },
  ],
  [
    'with an additional tag of over 1024 characters',
    'long-tag',
    { additionalTags: { a: 'v'.repeat(2000) } },
    { additionalTags: { a: 'v' } },
  ],
];

describe('AWSFargateProfiles created with the CRD of Cluster API Provider AWS', () => {
  let controlPlane: ControlPlane;

  const path = (name: string): string => `${PROFILES}/${name}`;
  const get = (name: string): Promise<RawObject> => controlPlane.api.get(path(name));
  const patch = (name: string, body: object): Promise<RawObject> => controlPlane.api.patch(path(name), body);

  const create = (body: object): Promise<ApiResponse> =>
    controlPlane.api.request('POST', PROFILES, { body, query: { dryRun: 'All' } });
  /** Deletes an object as kubectl does, and then removes its finalizers as a controller does. */
  const deleteAndFinalize = async (name: string): Promise<void> => {
    await controlPlane.api.delete(path(name));
    expect((await get(name)).metadata).to.have.property('deletionTimestamp');
    await patch(name, { metadata: { finalizers: null } });
    expect(await controlPlane.api.exists(path(name))).to.equal(false);
  };

  before(async () => {
    controlPlane = await acquireControlPlane(EMPTY_SET_UP);
    const { api } = controlPlane;
    const crds = await loadCrds(CAPA_CRD);
    await applyCrds(api, ...crds.map((crd) => storedAs('v1beta1', crd)));
    for (const [, name, spec] of OLD_OBJECTS) {
      await api.post(PROFILES, profile(name, spec));
      await api.post(PROFILES, withFinalizer(profile(`${name}-as-it-is`, spec)));
    }
    await api.post(PROFILES, withFinalizer(profile('no-cluster', { clusterName: '${CLUSTER_NAME}' })));
    await applyCrds(api, ...crds.map((crd) => storedAs('v1beta2', crd)));
    await api.post(PROFILES, withFinalizer({ ...profile('no-spec'), spec: undefined }));
    await api.post(STORED_AS_V1BETA1, {
      ...withFinalizer(
        profile('old-version', { profileName: 'default_old-version', roleName: 'prod-default_old-version_fargate' }),
      ),
      apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
    });
    await api.patch(`${path('old-version')}/status`, {
      status: { ready: false, failureReason: 'x', conditions: [OLD_CONDITION, { ...OLD_CONDITION, type: 'Old' }] },
    });
    await applyCrds(api, OUR_CRD);
    // The API server enforces the changed schema of a CRD only some time after it has accepted the CRD. So the test
    // waits until the API server refuses an invalid object.
    await eventually(
      async () => {
        return causesOf(await create(profile('probe', { selectors: [] }))).length > 0;
      },
      { what: 'the rules of the new CRD in force' },
    );
  });
  after(() => controlPlane.stop());
  const pages = {
    'docs/upgrade.md': takeBlocks('docs/upgrade.md', import.meta.url),
    'docs/migration-from-capa.md': takeBlocks('docs/migration-from-capa.md', import.meta.url),
  };

  for (const [what, name, , fix, other = { additionalTags: { new: 'tag' } }] of OLD_OBJECTS)
    it(`can be labelled, changed and corrected, or deleted unchanged: ${what}`, async () => {
      const { api } = controlPlane;
      const old = await get(name);
      expect(isRight(decodeAWSFargateProfile(old)), 'decodes').to.equal(true);
      expect(old.status).to.deep.equal({ observedGeneration: -1 });
      expect(causesOf(await create(copyOf(old))), 'a new object like this').not.to.deep.equal([]);

      await patch(name, { metadata: { labels: { a: 'b' }, finalizers: [FINALIZER] } });
      await api.patch(`${path(name)}/status`, { status: { observedGeneration: 1, conditions: [OLD_CONDITION] } });
      const changed = await patch(name, { spec: other });
      expect(changed.metadata).to.deep.include({ labels: { a: 'b' }, finalizers: [FINALIZER] });
      expect(changed).to.containSubset({ spec: other });
      expect(changed.metadata.generation).to.equal((old.metadata.generation ?? 0) + 1);

      const fixed = await patch(name, { spec: fix });
      expect(causesOf(await create(copyOf(fixed))), 'a new object like this').to.deep.equal([]);
      await deleteAndFinalize(`${name}-as-it-is`);
    });

  it('can be labelled, changed and deleted with a clusterName that no Cluster can have', async () => {
    const changed = await patch('no-cluster', {
      metadata: { labels: { a: 'b' } },
      spec: { additionalTags: { a: 'b' } },
    });
    expect(changed.spec).to.include({ clusterName: '${CLUSTER_NAME}' });
    expect(causesOf(await create(copyOf(changed)))).to.have.length(1);
    await deleteAndFinalize('no-cluster');
  });

  it('can be labelled and deleted without a spec; the decoder reports the missing spec', async () => {
    const labelled = await patch('no-spec', { metadata: { labels: { a: 'b' } } });
    const decoded = decodeAWSFargateProfile(labelled);
    expect(isLeft(decoded) && decoded.left.map(describeProblem)).to.deep.equal([
      'spec is missing: set spec with selectors, and clusterName or eksCluster',
    ]);
    await deleteAndFinalize('no-spec');
  });

  it('keep their old conditions beside new ones', async () => {
    const old = await get('old-version');
    const conditions = [OLD_CONDITION, { ...OLD_CONDITION, type: 'Old' }];
    expect(old.apiVersion).to.equal('infrastructure.cluster.x-k8s.io/v1beta2');
    expect(old.status).to.deep.equal({ observedGeneration: -1, ready: false, failureReason: 'x', conditions });
    expect(isRight(decodeAWSFargateProfile(old)), 'decodes').to.equal(true);

    const ready = { type: 'Ready', status: 'True', reason: 'Provisioned', lastTransitionTime: '2025-01-02T03:04:05Z' };
    const { status } = await controlPlane.api.patch(`${path('old-version')}/status`, {
      status: { failureReason: null, conditions: [{ ...ready, observedGeneration: 1 }, conditions[1]] },
    });
    expect(status?.conditions).to.deep.equal([{ ...ready, observedGeneration: 1 }, conditions[1]]);
  });

  it('can be changed and deleted when they were stored as v1beta1', async () => {
    const crd = await controlPlane.api.get(PROFILE_CRD);
    expect(crd.status?.['storedVersions']).to.deep.equal(['v1beta1', 'v1beta2']);
    const changed = await patch('old-version', { spec: { additionalTags: { a: 'b' } } });
    expect(changed.spec).to.have.property('additionalTags').that.deep.equals({ a: 'b' });
    await deleteAndFinalize('old-version');
  });

  for (const [page, blocks] of Object.entries(pages))
    it(`are refused by kubectl in older versions with the message in ${page}, and accepted with its change`, async () => {
      const documented = blocks.next('no matches for kind');
      const change = blocks.next('apiVersion');
      const file = join(controlPlane.dir, 'profiles.yaml');
      const apply = async (apiVersion: string): Promise<string> => {
        const { apiVersion: _current, ...rest } = profile('web');
        const metadata = { ...rest.metadata, namespace: 'default' };
        writeFileSync(file, `${apiVersion}${stringify({ ...rest, metadata })}`);
        const { stdout, stderr } = await kubectl(controlPlane, ['apply', '--dry-run=server', '-f', file]);
        return `${stdout}${stderr}`.replace(file, 'profiles.yaml');
      };
      for (const version of ['v1alpha4', 'v1beta1'])
        expect(await apply(`apiVersion: infrastructure.cluster.x-k8s.io/${version}\n`)).to.equal(
          documented.replace('v1beta1', version),
        );
      expect(await apply(change)).to.include('web created');
    });

  it('are printed by kubectl get with the columns of the CRD', async () => {
    const { api } = controlPlane;
    await api.post(PROFILES, profile('shown'));
    await api.patch(`${path('shown')}/status`, {
      status: {
        profileName: 'default_shown',
        profileStatus: 'CREATING',
        eksClusterName: 'default_prod',
        role: { name: 'prod-default_shown_fargate' },
        conditions: [
          {
            type: 'Ready',
            status: 'False',
            reason: 'Creating',
            message: 'EKS is creating the profile.',
            lastTransitionTime: '2025-01-02T03:04:05Z',
          },
        ],
      },
    });
    const { stdout } = await kubectl(controlPlane, ['get', 'awsfp', 'shown', '-o', 'wide']);
    const [header, row] = stdout
      .trim()
      .split('\n')
      .map((line) => line.split(/ {2,}/).filter((_, column) => column !== 9));
    expect(header).to.deep.equal([
      'NAME',
      'CLUSTER',
      'PROFILE',
      'STATUS',
      'READY',
      'REASON',
      'EKS CLUSTER',
      'ROLE',
      'MESSAGE',
    ]);
    expect(row).to.deep.equal([
      'shown',
      'prod',
      'default_shown',
      'CREATING',
      'False',
      'Creating',
      'default_prod',
      'prod-default_shown_fargate',
      'EKS is creating the profile.',
    ]);
    expect((await kubectl(controlPlane, ['get', 'cluster-api'])).stdout).to.contain('shown');
  });
});
