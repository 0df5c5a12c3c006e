import { expect } from 'chai';
import type { ApiResponse, Query } from '../../envtest/clients/api.ts';
import type { ControlPlane } from '../../envtest/control-plane/controlplane.ts';
import { acquireControlPlane } from '../../envtest/control-plane/pool.ts';
import { WITH_CRDS } from '../../world/world.ts';
import { CREATIONS, MALFORMED, UNCHECKED } from './creations.ts';
import { PROFILES, causesOf, profile } from './profiles.ts';

describe('validation of a new AWSFargateProfile', () => {
  let controlPlane: ControlPlane;

  before(async () => {
    controlPlane = await acquireControlPlane(WITH_CRDS);
  });
  after(() => controlPlane.stop());

  const create = (body: object, query: Query = {}): Promise<ApiResponse> =>
    controlPlane.api.request('POST', PROFILES, { body, query: { dryRun: 'All', ...query } });

  for (const { what, spec, causes } of CREATIONS) {
    it(`${causes.length === 0 ? 'accepts' : 'refuses'} ${what}`, async () => {
      // The API server validates the fields of an object in a random order, so the test ignores the order of the
      // causes.
      expect(causesOf(await create(profile('new', spec)))).to.have.members(causes);
      const applied = await controlPlane.api.request('PATCH', `${PROFILES}/new`, {
        body: profile('new', spec),
        query: { dryRun: 'All', fieldManager: 'test' },
        contentType: 'application/apply-patch+yaml',
      });
      expect(causesOf(applied), 'server-side apply').to.have.members(causes);
    });
  }

  for (const { what, spec, causes } of MALFORMED) {
    it(`refuses ${what}`, async () => {
      expect(causesOf(await create(profile('new', spec)))).to.deep.equal([...causes, UNCHECKED]);
    });
  }

  it('refuses an object without a spec', async () => {
    expect(causesOf(await create({ ...profile('new'), spec: undefined }))).to.deep.equal([
      'spec: Required value: missing; set at least selectors and clusterName or eksCluster',
    ]);
  });

  it('reports all errors at once', async () => {
    const selectors = [{ namespace: 'Upper' }, { labels: { '-': 'x' } }];
    const spec = { clusterName: '', profileName: 'eks-a.b', selectors, roleARN: 'pods', roleName: 'a/b' };
    const causes = causesOf(await create(profile('new', spec)));
    expect(causes.map((cause) => cause.slice(0, cause.indexOf(':'))).toSorted()).to.deep.equal([
      'spec.clusterName',
      'spec.profileName',
      'spec.profileName',
      'spec.roleARN',
      'spec.roleARN',
      'spec.roleName',
      'spec.selectors[0].namespace',
      'spec.selectors[1].labels',
      'spec.selectors[1].namespace',
    ]);
  });

  it('drops unknown fields with a warning, and refuses them with strict field validation', async () => {
    const odd = profile('new', { subnetIds: ['subnet-1'] });
    const { status, body, warnings } = await create(odd, { fieldValidation: 'Warn' });
    expect(status).to.equal(201);
    expect(body).to.have.property('spec').that.does.not.have.property('subnetIds');
    expect(warnings).to.deep.equal(['unknown field "spec.subnetIds"']);
    expect((await create(odd, { fieldValidation: 'Strict' })).status).to.equal(400);
  });

  it('sets the defaults that tools read, and no deletionPolicy', async () => {
    const { body } = await create(profile('new', { updateStrategy: {} }));
    expect(body).to.have.property('status').that.deep.equals({ observedGeneration: -1 });
    expect(body)
      .to.have.property('spec')
      .that.deep.equals({
        clusterName: 'prod',
        selectors: [{ namespace: 'default' }],
        updateStrategy: {},
        adoptionPolicy: 'Owned',
      });
  });

  it('accepts the largest object that the schema allows within the CEL cost limits', async () => {
    const labels = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`label-${i}`, 'v']));
    const spec = {
      selectors: Array.from({ length: 100 }, (_, i) => ({ namespace: `ns-${i}`, labels })),
      subnetIDs: Array.from({ length: 1000 }, (_, i) => `subnet-${i}`),
    };
    expect(causesOf(await create(profile('big', spec)))).to.deep.equal([]);
  });
});
