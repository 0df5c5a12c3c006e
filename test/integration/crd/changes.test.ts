import { expect } from 'chai';
import type { ApiResponse, Query } from '../../envtest/clients/api.ts';
import { kubectl } from '../../envtest/clients/kubectl.ts';
import type { ControlPlane } from '../../envtest/control-plane/controlplane.ts';
import { acquireControlPlane } from '../../envtest/control-plane/pool.ts';
import { WITH_CRDS } from '../../world/world.ts';
import { PROFILES, causesOf, profile } from './profiles.ts';

type Fields = Readonly<Record<string, unknown>>;

interface Initial {
  /** The name of the AWSFargateProfile; default: `foo`. */
  readonly name?: string;
  readonly before: Fields;
  readonly status?: Fields;
}

const CREATE_ANOTHER = 'create another AWSFargateProfile instead';

const REPLACE = `set updateStrategy.type to Replace, or ${CREATE_ANOTHER}`;
/**
 * The remedies in the messages about fields that Replace cannot change, or can change only together with another field.
 */
const CURES: Readonly<Record<string, string>> = {
  rolePath: `set updateStrategy.type to Replace and change roleName too, or ${CREATE_ANOTHER}`,
  rolePermissionsBoundary: CREATE_ANOTHER,
};

const immutable = (field: string, before: string, after: string): readonly string[] => [
  `spec.${field}: Forbidden: ${field} is immutable once the profile is provisioned: "${before}" cannot become "${after}"; ${CURES[field] ?? REPLACE}`,
];
const immutableList = (field: string): readonly string[] => [
  `spec.${field}: Forbidden: ${field} is immutable once the profile is provisioned; ${REPLACE}`,
];
const [SELECTORS, SUBNETS] = [immutableList('selectors'), immutableList('subnetIDs')];

const ROLE = 'arn:aws:iam::123456789012:role/pods';
const OTHER_ROLE = 'arn:aws:iam::123456789012:role/other';
const POLICY = 'arn:aws:iam::aws:policy/ViewOnlyAccess';
const OTHER_POLICY = 'arn:aws:iam::aws:policy/ReadOnlyAccess';
const [A, B] = [{ namespace: 'a' }, { namespace: 'b' }];
const LABELLED = { ...A, labels: { x: 'y' } };

/**
 * Changes of the spec that the API server refuses once `status.initialization.provisioned` is true, with the reasons,
 * each as `field: message`. Before that, the API server accepts these changes, so that users can correct mistakes.
 */
const IMMUTABLE_ONCE_PROVISIONED: readonly (readonly [
  what: string,
  before: Fields,
  change: Fields,
  causes: readonly string[],
  status?: Fields,
])[] = [
  ['changing the profileName', { profileName: 'a' }, { profileName: 'b' }, immutable('profileName', 'a', 'b')],
  ['removing a wanted profileName', { profileName: 'a' }, { profileName: null }, immutable('profileName', 'a', '')],
  ['adding another profileName', {}, { profileName: 'default_bar' }, immutable('profileName', '', 'default_bar')],
  [
    'adding a profileName that differs from status.profileName',
    {},
    { profileName: 'default_foo' },
    immutable('profileName', '', 'default_foo'),
    { profileName: 'other_foo' },
  ],
  [
    'replacing a profileName by the computed one',
    { profileName: 'a' },
    { profileName: 'default_foo' },
    immutable('profileName', 'a', 'default_foo'),
    { profileName: 'default_foo' },
  ],
  ['adding a selector', { selectors: [A] }, { selectors: [A, B] }, SELECTORS],
  ['removing a selector', { selectors: [A, B] }, { selectors: [A] }, SELECTORS],
  ['changing a label', { selectors: [LABELLED] }, { selectors: [{ ...A, labels: { x: 'z' } }] }, SELECTORS],
  ['adding a label to a selector without labels', { selectors: [A] }, { selectors: [LABELLED] }, SELECTORS],
  ['adding subnets', {}, { subnetIDs: ['subnet-1'] }, SUBNETS],
  [
    'adding some of the subnets in use',
    {},
    { subnetIDs: ['subnet-1'] },
    SUBNETS,
    { subnets: ['subnet-1', 'subnet-2'] },
  ],
  ['removing subnets', { subnetIDs: ['subnet-1'] }, { subnetIDs: null }, SUBNETS],
  ['changing the rolePath', { rolePath: '/a/' }, { rolePath: '/b/' }, immutable('rolePath', '/a/', '/b/')],
  ['removing the rolePath', { rolePath: '/a/' }, { rolePath: null }, immutable('rolePath', '/a/', '')],
  ['changing the roleARN', { roleARN: ROLE }, { roleARN: OTHER_ROLE }, immutable('roleARN', ROLE, OTHER_ROLE)],
  ['adding a roleARN', {}, { roleARN: ROLE }, immutable('roleARN', '', ROLE)],
  ['removing the roleARN', { roleARN: ROLE }, { roleARN: null }, immutable('roleARN', ROLE, '')],
  ['changing the roleName', { roleName: 'a' }, { roleName: 'b' }, immutable('roleName', 'a', 'b')],
  ['adding a roleName that is not a computed one', {}, { roleName: 'pods' }, immutable('roleName', '', 'pods')],
  [
    'adding a roleName that differs from status.role.name',
    {},
    { roleName: 'prod-default_foo_fargate' },
    immutable('roleName', '', 'prod-default_foo_fargate'),
    { role: { name: 'prod-default_bar_fargate' } },
  ],
  ['removing a wanted roleName', { roleName: 'pods' }, { roleName: '' }, immutable('roleName', 'pods', '')],
  [
    'replacing a roleName by a computed one',
    { roleName: 'pods' },
    { roleName: 'prod-default_foo_fargate' },
    immutable('roleName', 'pods', 'prod-default_foo_fargate'),
  ],
  [
    'changing the rolePermissionsBoundary',
    { rolePermissionsBoundary: POLICY },
    { rolePermissionsBoundary: OTHER_POLICY },
    immutable('rolePermissionsBoundary', POLICY, OTHER_POLICY),
  ],
];

const ROLE_NAMES = [
  'prod-default_foo_fargate',
  'capa_10uyoudsbd1q75zvbl5fqtlamoi',
  'eks-fargate.cluster-api-provider-aws.sigs.k8s.io',
];

/**
 * Changes of the spec that the API server accepts even after `status.initialization.provisioned` is true. The object is
 * `foo`, unless another name is given.
 */
const MUTABLE: readonly (readonly [what: string, before: Fields, change: Fields, status?: Fields, name?: string])[] = [
  ['changing the tags', { additionalTags: { a: 'b' } }, { additionalTags: { a: null, c: 'd' } }],
  ['changing the policies', { roleAdditionalPolicies: [POLICY] }, { roleAdditionalPolicies: [OTHER_POLICY] }],
  ['changing the deletionPolicy', {}, { deletionPolicy: 'Retain' }],
  ['changing the adoptionPolicy', {}, { adoptionPolicy: 'Never' }],
  ['adding the profileName of the status', {}, { profileName: 'any' }, { profileName: 'any' }],
  ['adding the computed profileName', {}, { profileName: 'default_foo_bar' }, {}, 'foo.bar'],
  ['adding the hashed profileName', { profileName: '' }, { profileName: 'capa_lw9gghk6oj4nkdbmthd0mplrnqe' }],
  ['adding the roleName of the status', {}, { roleName: 'any' }, { role: { name: 'any' } }],
  ...ROLE_NAMES.flatMap((roleName) => [
    [`adding the roleName ${roleName}`, {}, { roleName }] as const,
    [`removing the roleName ${roleName}`, { roleName }, { roleName: null }] as const,
  ]),
];

const IN_USE = {
  profileName: 'default_foo',
  role: { name: 'prod-default_foo_fargate', managed: true },
  subnets: ['subnet-1', 'subnet-2'],
  region: 'eu-west-1',
};
const COMPUTED_ROLE = { roleName: IN_USE.role.name };
const WEB = { namespace: 'web', labels: { app: 'web' } };

/** Pairs of specs that mean the same for a provisioned profile with the status `IN_USE`. */
const EQUAL: readonly (readonly [what: string, one: Fields, other: Fields])[] = [
  ['absent and empty labels', { selectors: [{ namespace: 'a' }] }, { selectors: [{ namespace: 'a', labels: {} }] }],
  ['another order of selectors', { selectors: [{ namespace: 'a' }, WEB] }, { selectors: [WEB, { namespace: 'a' }] }],
  ['a selector twice', { selectors: [WEB] }, { selectors: [WEB, WEB] }],
  ['no subnets and those in use', {}, { subnetIDs: ['subnet-2', 'subnet-1'] }],
  ['an empty list of subnets and those in use', { subnetIDs: [] }, { subnetIDs: ['subnet-1', 'subnet-2'] }],
  ['no subnets and an empty list', {}, { subnetIDs: [] }],
  ['another order of subnets', { subnetIDs: ['subnet-1', 'subnet-2'] }, { subnetIDs: ['subnet-2', 'subnet-1'] }],
  ['no rolePath and the default', {}, { rolePath: '/' }],
  ['an empty rolePath and the default', { rolePath: '' }, { rolePath: '/' }],
  ['no rolePath and an empty one', {}, { rolePath: '' }],
  ['roleARN without and with the default rolePath', { roleARN: ROLE }, { roleARN: ROLE, rolePath: '/' }],
  ['no profileName and the computed one', {}, { profileName: IN_USE.profileName }],
  ['no roleName and the computed one', {}, COMPUTED_ROLE],
  ['absent and empty names', {}, { profileName: '', roleName: '', rolePermissionsBoundary: '' }],
  ['absent and default policies', {}, { deletionPolicy: 'Delete', adoptionPolicy: 'Owned' }],
  ['no updateStrategy and the default', {}, { updateStrategy: { type: 'Reject' } }],
  ['absent and empty tags and policies', {}, { additionalTags: {}, roleAdditionalPolicies: [] }],
  [
    'no region and the one in use',
    { clusterName: undefined, eksCluster: { name: 'tools' } },
    { clusterName: undefined, eksCluster: { name: 'tools', region: 'eu-west-1' } },
  ],
];

/** Returns a merge patch of the spec, as a client-side `kubectl apply` sends it. */
const mergePatchOf = (before: Fields, after: Fields): Fields => ({
  ...Object.fromEntries(Object.keys(before).map((field) => [field, null])),
  ...after,
});

describe('validation of a change of an AWSFargateProfile', () => {
  let controlPlane: ControlPlane;

  before(async () => {
    controlPlane = await acquireControlPlane(WITH_CRDS);
  });
  after(() => controlPlane.stop());

  const change = (name: string, spec: Fields): Promise<ApiResponse> =>
    controlPlane.api.request('PATCH', `${PROFILES}/${name}`, {
      body: { spec },
      contentType: 'application/merge-patch+json',
    });

  const withObject = async (
    { name = 'foo', before: spec, status = {} }: Initial,
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

  for (const [what, before, changed, causes, status = {}] of IMMUTABLE_ONCE_PROVISIONED) {
    it(`refuses ${what} after the profile was provisioned, and allows it before`, async () => {
      for (const isProvisioned of [true, false])
        await withObject({ before, status }, isProvisioned, async (name) => {
          expect(causesOf(await change(name, changed))).to.deep.equal(isProvisioned ? causes : []);
        });
    });

    const isAllowed = Object.keys(changed).every((field) => CURES[field] === undefined);
    it(`${isAllowed ? 'allows' : 'refuses'} ${what} in an update that sets updateStrategy Replace`, async () => {
      await withObject({ before, status }, true, async (name) => {
        const answer = await change(name, { ...changed, updateStrategy: { type: 'Replace' } });
        expect(causesOf(answer)).to.deep.equal(isAllowed ? [] : causes);
      });
    });
  }

  it('allows another rolePath together with another roleName, with updateStrategy Replace', async () => {
    await withObject({ before: { roleName: 'a', updateStrategy: { type: 'Replace' } } }, true, async (name) => {
      expect(causesOf(await change(name, { roleName: 'b', rolePath: '/b/' }))).to.deep.equal([]);
    });
  });

  for (const [what, before, changed, status = {}, name = 'foo'] of MUTABLE) {
    it(`always allows ${what}`, async () => {
      await withObject({ name, before, status }, true, async () => {
        expect(causesOf(await change(name, changed))).to.deep.equal([]);
      });
    });
  }

  const APPLY = { fieldManager: 'test', force: true };
  const apply = async (name: string, spec: Fields, query: Query = APPLY): Promise<ApiResponse> =>
    controlPlane.api.request('PATCH', `${PROFILES}/${name}`, {
      body: profile(name, spec),
      contentType: 'application/apply-patch+yaml',
      query,
    });

  for (const [what, one, other] of EQUAL) {
    it(`always allows to replace one by the other: ${what}`, async () => {
      const { api } = controlPlane;
      const path = `${PROFILES}/foo`;
      const dryRun = { dryRun: 'All' };
      for (const [before, after] of [
        [one, other],
        [other, one],
      ] as const) {
        await apply('foo', before);
        try {
          const status = { ...IN_USE, initialization: { provisioned: true } };
          const object = await api.patch(`${path}/status`, { status });
          const answers = {
            clientSideApply: await api.request('PATCH', path, {
              body: { spec: mergePatchOf(before, after) },
              contentType: 'application/merge-patch+json',
              query: dryRun,
            }),
            serverSideApply: await apply('foo', after, { ...APPLY, ...dryRun }),
            update: await api.request('PUT', path, {
              body: { ...object, spec: profile('foo', after).spec },
              query: dryRun,
            }),
          };
          for (const [way, answer] of Object.entries(answers)) expect(causesOf(answer), way).to.deep.equal([]);
        } finally {
          await api.delete(path);
        }
      }
    });
  }

  it('compares the largest spec that the schema allows within the CEL cost limits', async () => {
    const labels = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`label-${i}`, 'v']));
    const selectors = Array.from({ length: 100 }, (_, i) => ({ namespace: `ns-${i}`, labels }));
    const subnetIDs = Array.from({ length: 1000 }, (_, i) => `subnet-${i}`);
    await withObject({ before: { selectors, subnetIDs }, status: { subnets: subnetIDs } }, true, async (name) => {
      for (const spec of [{ selectors: selectors.toReversed() }, { subnetIDs: null }, { subnetIDs }]) {
        expect(causesOf(await change(name, spec))).to.deep.equal([]);
      }
    });
    const subnets = subnetIDs.slice(0, 500);
    await withObject({ before: {}, status: { subnets } }, true, async (name) => {
      expect(causesOf(await change(name, { subnetIDs: subnets.toReversed() }))).to.deep.equal([]);
    });
  });

  it('always refuses another clusterName', async () => {
    for (const provisioned of [true, false]) {
      await withObject({ before: {} }, provisioned, async (name) => {
        expect(causesOf(await change(name, { clusterName: 'other' }))).to.deep.equal([
          `spec.clusterName: Forbidden: clusterName is immutable: "prod" cannot become "other"; ${CREATE_ANOTHER}`,
        ]);
        expect(causesOf(await change(name, { clusterName: null }))).to.deep.equal([
          'spec.clusterName: Required value: missing; set it to the name of a Cluster in the same namespace, or set eksCluster',
        ]);
      });
    }
  });

  it('always refuses another eksCluster, and allows another identity', async () => {
    const before = { clusterName: undefined, eksCluster: { name: 'tools', region: 'eu-west-1' } };
    const identityRef = { kind: 'AWSClusterRoleIdentity', name: 'team-a' };
    const refusals: readonly (readonly [Fields, readonly string[]])[] = [
      [
        { eksCluster: { name: 'other' } },
        [`spec.eksCluster.name: Forbidden: name is immutable: "tools" cannot become "other"; ${CREATE_ANOTHER}`],
      ],
      [{ eksCluster: { region: null } }, [`spec.eksCluster.region: Forbidden: region is immutable; ${CREATE_ANOTHER}`]],
      [
        { eksCluster: null },
        [
          'spec.clusterName: Required value: missing; set it to the name of a Cluster in the same namespace, or set eksCluster',
        ],
      ],
      [
        { eksCluster: null, clusterName: 'prod' },
        [`spec.clusterName: Forbidden: cannot replace eksCluster, which is immutable; ${CREATE_ANOTHER}`],
      ],
      [
        { clusterName: 'prod' },
        ['spec.eksCluster: Forbidden: cannot be combined with clusterName; set one of the two'],
      ],
    ];
    for (const provisioned of [true, false]) {
      await withObject({ before }, provisioned, async (name) => {
        for (const [wrong, causes] of refusals) expect(causesOf(await change(name, wrong))).to.deep.equal(causes);
        expect(causesOf(await change(name, { eksCluster: { identityRef } }))).to.deep.equal([]);
        expect(causesOf(await change(name, { eksCluster: { identityRef: null } }))).to.deep.equal([]);
      });
    }
  });

  it('always refuses to replace clusterName by eksCluster', async () => {
    await withObject({ before: {} }, false, async (name) => {
      expect(causesOf(await change(name, { clusterName: null, eksCluster: { name: 'tools' } }))).to.deep.equal([
        `spec.eksCluster: Forbidden: cannot replace clusterName, which is immutable; ${CREATE_ANOTHER}`,
      ]);
    });
  });

  it('refuses to remove the spec or its selectors', async () => {
    await withObject({ before: {} }, false, async (name) => {
      expect(causesOf(await change(name, { selectors: null }))).to.deep.equal([
        'spec.selectors: Required value: Fargate Profile requires at least one selector.',
      ]);
      const path = `${PROFILES}/${name}`;
      const { spec: _, ...bare } = await controlPlane.api.get(path);
      expect(causesOf(await controlPlane.api.request('PUT', path, { body: bare }))).to.deep.equal([
        'spec: Required value: missing; set at least selectors and clusterName or eksCluster',
      ]);
    });
  });

  it('allows any change of the status of a provisioned object and ignores the spec in it', async () => {
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

  const withBoth = (act: () => Promise<void>): Promise<void> =>
    withObject({ name: 'named', before: {} }, false, () =>
      withObject({ name: 'in-eks', before: { clusterName: undefined, eksCluster: { name: 'tools' } } }, false, act),
    );

  // The oldest supported API server does not support selectable fields (Makefile, test-compatibility).
  it('selects objects by the field spec.clusterName or spec.eksCluster.name', () =>
    withBoth(async () => {
      for (const [fieldSelector, name] of [
        ['spec.clusterName=prod', 'named'],
        ['spec.eksCluster.name=tools', 'in-eks'],
      ] as const) {
        const { items } = await controlPlane.api.list(PROFILES, { fieldSelector });
        expect(items.map(({ metadata }) => metadata.name)).to.deep.equal([name]);
      }
    }));

  it('shows the EKS cluster of an object without a Cluster in the column of the Cluster', () =>
    withBoth(async () => {
      const { stdout } = await kubectl(controlPlane, ['get', 'awsfargateprofiles']);
      const [header, ...rows] = stdout
        .trim()
        .split('\n')
        .map((line) => line.split(/ +/).slice(0, 2));
      expect(header).to.deep.equal(['NAME', 'CLUSTER']);
      expect(rows).to.have.deep.members([
        ['named', 'prod'],
        ['in-eks', 'tools'],
      ]);
    }));
});
