import { expect } from 'chai';
import type { ApiResponse } from '../envtest/api.ts';
import { startControlPlane, type ControlPlane } from '../envtest/controlplane.ts';
import { applyCrds } from '../envtest/crds.ts';
import { OUR_CRD, PROFILES, causesOf, profile } from './profiles.ts';

type Fields = Readonly<Record<string, unknown>>;

interface Start {
  /** The name of the object; `foo` if it does not matter. */
  readonly name?: string;
  readonly before: Fields;
  readonly status?: Fields;
}

interface Case extends Start {
  readonly what: string;
  readonly change: Fields;
  /** `field: message` of each cause; nothing: accepted. */
  readonly causes?: readonly string[];
}

const immutable = (field: string, before: string, after: string): readonly string[] => [
  `spec.${field}: Forbidden: ${field} is immutable once the profile was provisioned: "${before}" cannot become "${after}"`,
];

const ROLE = 'arn:aws:iam::123456789012:role/pods';
const OTHER_ROLE = 'arn:aws:iam::123456789012:role/other';
const POLICY = 'arn:aws:iam::aws:policy/ViewOnlyAccess';
const OTHER_POLICY = 'arn:aws:iam::aws:policy/ReadOnlyAccess';

/** Refused once the profile was provisioned; before that, each is a mistake that can be mended. */
const LATCHED: readonly (Case & { readonly causes: readonly string[] })[] = [
  {
    what: 'another profileName',
    before: { profileName: 'a' },
    change: { profileName: 'b' },
    causes: immutable('profileName', 'a', 'b'),
  },
  {
    what: 'a profileName taken out that was not a computed one',
    before: { profileName: 'a' },
    change: { profileName: null },
    causes: immutable('profileName', 'a', ''),
  },
  {
    what: 'a profileName filled in that is not the computed one',
    before: {},
    change: { profileName: 'default_bar' },
    causes: immutable('profileName', '', 'default_bar'),
  },
  {
    what: 'a profileName filled in that is not the one that status knows',
    before: {},
    change: { profileName: 'default_foo' },
    status: { profileName: 'other_foo' },
    causes: immutable('profileName', '', 'default_foo'),
  },
  {
    what: 'the computed profileName in place of another',
    before: { profileName: 'a' },
    change: { profileName: 'default_foo' },
    status: { profileName: 'default_foo' },
    causes: immutable('profileName', 'a', 'default_foo'),
  },
  {
    what: 'another selector',
    before: { selectors: [{ namespace: 'a' }] },
    change: { selectors: [{ namespace: 'b' }] },
    causes: ['spec.selectors: Forbidden: selectors is immutable once the profile was provisioned.'],
  },
  {
    what: 'one more selector',
    before: { selectors: [{ namespace: 'a' }] },
    change: { selectors: [{ namespace: 'a' }, { namespace: 'b' }] },
    causes: ['spec.selectors: Forbidden: selectors is immutable once the profile was provisioned.'],
  },
  {
    what: 'one selector less',
    before: { selectors: [{ namespace: 'a' }, { namespace: 'b' }] },
    change: { selectors: [{ namespace: 'a' }] },
    causes: ['spec.selectors: Forbidden: selectors is immutable once the profile was provisioned.'],
  },
  {
    what: 'another label',
    before: { selectors: [{ namespace: 'a', labels: { x: 'y' } }] },
    change: { selectors: [{ namespace: 'a', labels: { x: 'z' } }] },
    causes: ['spec.selectors: Forbidden: selectors is immutable once the profile was provisioned.'],
  },
  {
    what: 'another subnet',
    before: { subnetIDs: ['subnet-1', 'subnet-2'] },
    change: { subnetIDs: ['subnet-1', 'subnet-3'] },
    causes: ['spec.subnetIDs: Forbidden: subnetIDs is immutable once the profile was provisioned.'],
  },
  {
    what: 'subnets named where none were',
    before: {},
    change: { subnetIDs: ['subnet-1'] },
    causes: ['spec.subnetIDs: Forbidden: subnetIDs is immutable once the profile was provisioned.'],
  },
  {
    what: 'subnets taken out',
    before: { subnetIDs: ['subnet-1'] },
    change: { subnetIDs: null },
    causes: ['spec.subnetIDs: Forbidden: subnetIDs is immutable once the profile was provisioned.'],
  },
  {
    what: 'another roleARN',
    before: { roleARN: ROLE },
    change: { roleARN: OTHER_ROLE },
    causes: immutable('roleARN', ROLE, OTHER_ROLE),
  },
  {
    what: 'a roleARN where there was none',
    before: {},
    change: { roleARN: ROLE },
    causes: immutable('roleARN', '', ROLE),
  },
  {
    what: 'a roleARN taken out',
    before: { roleARN: ROLE },
    change: { roleARN: null },
    causes: immutable('roleARN', ROLE, ''),
  },
  {
    what: 'another roleName',
    before: { roleName: 'a' },
    change: { roleName: 'b' },
    causes: immutable('roleName', 'a', 'b'),
  },
  {
    what: 'a roleName filled in that is not a computed one',
    before: {},
    change: { roleName: 'pods' },
    causes: immutable('roleName', '', 'pods'),
  },
  {
    what: 'a roleName filled in that is not the one that status knows',
    before: {},
    change: { roleName: 'prod-default_foo_fargate' },
    status: { role: { name: 'prod-default_bar_fargate' } },
    causes: immutable('roleName', '', 'prod-default_foo_fargate'),
  },
  {
    what: 'a roleName taken out that was not a computed one',
    before: { roleName: 'pods' },
    change: { roleName: '' },
    causes: immutable('roleName', 'pods', ''),
  },
  {
    what: 'a computed roleName in place of another',
    before: { roleName: 'pods' },
    change: { roleName: 'prod-default_foo_fargate' },
    causes: immutable('roleName', 'pods', 'prod-default_foo_fargate'),
  },
  {
    what: 'another rolePath',
    before: { rolePath: '/a/' },
    change: { rolePath: '/b/' },
    causes: immutable('rolePath', '/a/', '/b/'),
  },
  {
    what: 'another rolePermissionsBoundary',
    before: { rolePermissionsBoundary: POLICY },
    change: { rolePermissionsBoundary: OTHER_POLICY },
    causes: immutable('rolePermissionsBoundary', POLICY, OTHER_POLICY),
  },
];

/** Allowed at any time. */
const FREE: readonly Case[] = [
  { what: 'tags', before: { additionalTags: { a: 'b' } }, change: { additionalTags: { a: null, c: 'd' } } },
  {
    what: 'additional policies',
    before: { roleAdditionalPolicies: [POLICY] },
    change: { roleAdditionalPolicies: [OTHER_POLICY] },
  },
  { what: 'the deletionPolicy', before: {}, change: { deletionPolicy: 'Retain' } },
  { what: 'the adoptionPolicy', before: {}, change: { adoptionPolicy: 'Never' } },
  { what: 'the updateStrategy, said as it is', before: {}, change: { updateStrategy: { type: 'Reject' } } },
  {
    what: 'the order of selectors and subnets',
    before: { selectors: [{ namespace: 'a' }, { namespace: 'b' }], subnetIDs: ['subnet-1', 'subnet-2'] },
    change: { selectors: [{ namespace: 'b' }, { namespace: 'a' }], subnetIDs: ['subnet-2', 'subnet-1'] },
  },
  {
    what: 'empty fields for absent ones',
    before: {},
    change: { profileName: '', roleName: '', rolePath: '', rolePermissionsBoundary: '', subnetIDs: [] },
  },
  {
    what: 'absent fields for empty ones',
    before: { profileName: '', roleName: '', rolePath: '', rolePermissionsBoundary: '', subnetIDs: [] },
    change: { profileName: null, roleName: null, rolePath: null, rolePermissionsBoundary: null, subnetIDs: null },
  },
  {
    what: 'the profileName that status knows, filled in late',
    before: {},
    change: { profileName: 'any' },
    status: { profileName: 'any' },
  },
  {
    what: 'the computed profileName, filled in late',
    name: 'foo.bar',
    before: {},
    change: { profileName: 'default_foo_bar' },
  },
  {
    what: 'the hashed profileName, filled in late',
    before: { profileName: '' },
    change: { profileName: 'capa_lw9gghk6oj4nkdbmthd0mplrnqe' },
  },
  {
    what: 'the computed profileName, taken out again',
    before: { profileName: 'default_foo' },
    change: { profileName: null },
    status: { profileName: 'default_foo' },
  },
  {
    what: 'the roleName that status knows, filled in late',
    before: {},
    change: { roleName: 'any' },
    status: { role: { name: 'any' } },
  },
  ...[
    'prod-default_foo_fargate',
    'capa_10uyoudsbd1q75zvbl5fqtlamoi',
    'eks-fargate.cluster-api-provider-aws.sigs.k8s.io',
  ].flatMap((roleName) => [
    { what: `the roleName ${roleName}, filled in late`, before: {}, change: { roleName } },
    { what: `the roleName ${roleName}, taken out again`, before: { roleName }, change: { roleName: null } },
  ]),
];

describe('the CRD, for a change', function () {
  this.timeout(60_000);
  let controlPlane: ControlPlane;

  before(async () => {
    controlPlane = await startControlPlane();
    await applyCrds(controlPlane.api, OUR_CRD);
  });
  after(() => controlPlane.stop());

  const change = (name: string, spec: Fields): Promise<ApiResponse> =>
    controlPlane.api.request('PATCH', `${PROFILES}/${name}`, {
      body: { spec },
      contentType: 'application/merge-patch+json',
    });

  /** Runs `act` with the name of an object that lives as long. */
  const withObject = async (
    { name = 'foo', before: spec, status = {} }: Start,
    provisioned: boolean,
    act: (name: string) => Promise<void>,
  ): Promise<void> => {
    const { api } = controlPlane;
    await api.post(PROFILES, profile(name, spec));
    try {
      await api.patch(`${PROFILES}/${name}/status`, { status: { ...status, initialization: { provisioned } } });
      await act(name);
    } finally {
      await api.delete(`${PROFILES}/${name}`);
    }
  };

  for (const latched of LATCHED) {
    it(`refuses ${latched.what} once the profile was provisioned, and allows it before`, async () => {
      await withObject(latched, true, async (name) => {
        expect(causesOf(await change(name, latched.change))).to.deep.equal(latched.causes);
      });
      await withObject(latched, false, async (name) => {
        expect(causesOf(await change(name, latched.change))).to.deep.equal([]);
      });
    });
  }

  for (const free of FREE) {
    it(`always allows ${free.what}`, async () => {
      await withObject(free, true, async (name) => {
        expect(causesOf(await change(name, free.change))).to.deep.equal([]);
      });
    });
  }

  it('refuses another clusterName, provisioned or not', async () => {
    for (const provisioned of [true, false]) {
      await withObject({ before: {} }, provisioned, async (name) => {
        expect(causesOf(await change(name, { clusterName: 'other' }))).to.deep.equal([
          'spec.clusterName: Forbidden: clusterName is immutable: "prod" cannot become "other"',
        ]);
        expect(causesOf(await change(name, { clusterName: null }))).to.deep.equal([
          'spec.clusterName: Required value: The name of the Cluster that the profile belongs to is missing.',
        ]);
      });
    }
  });

  it('refuses to take spec or selectors out of an object that has them', async () => {
    await withObject({ before: {} }, false, async (name) => {
      expect(causesOf(await change(name, { selectors: null }))).to.deep.equal([
        'spec.selectors: Required value: Fargate Profile requires at least one selector.',
      ]);
      const path = `${PROFILES}/${name}`;
      const { spec: _, ...bare } = await controlPlane.api.get(path);
      expect(causesOf(await controlPlane.api.request('PUT', path, { body: bare }))).to.deep.equal([
        'spec: Required value: There is no spec.',
      ]);
    });
  });

  it('names all changes that are refused at once', async () => {
    await withObject({ before: { profileName: 'a', rolePath: '/a/' } }, true, async (name) => {
      const causes = causesOf(await change(name, { profileName: 'b', rolePath: '/b/', clusterName: 'c' }));
      expect(causes).to.have.members([
        ...immutable('profileName', 'a', 'b'),
        ...immutable('rolePath', '/a/', '/b/'),
        'spec.clusterName: Forbidden: clusterName is immutable: "prod" cannot become "c"',
      ]);
    });
  });

  it('lets the status of a provisioned object change in all ways, and stops counting what spec says there', async () => {
    await withObject({ before: {} }, true, async (name) => {
      const path = `${PROFILES}/${name}`;
      const changed = await controlPlane.api.patch(`${path}/status`, {
        status: { initialization: null, ready: true },
        spec: { clusterName: 'other' },
      });
      expect(changed.status).to.deep.equal({ observedGeneration: -1, ready: true });
      expect(changed.spec).to.have.property('clusterName', 'prod');
    });
  });

  it('finds objects by the cluster they name', async () => {
    const { api } = controlPlane;
    await withObject({ name: 'one', before: { clusterName: 'one' } }, false, () =>
      withObject({ name: 'two', before: { clusterName: 'two' } }, false, async () => {
        const { items } = await api.list(PROFILES, { fieldSelector: 'spec.clusterName=two' });
        expect(items.map(({ metadata }) => metadata.name)).to.deep.equal(['two']);
      }),
    );
  });
});
