import { stripVTControlCharacters } from 'node:util';
import { expect } from 'chai';
import * as E from 'fp-ts/lib/Either.js';
import type { KubeObject } from 'controller-runtime/client';
import { crd as ourCrd } from '../../../api/v1beta2/crd.ts';
import { NOW } from '../../../controllers/awsfargateprofile/testing/builders.ts';
import type { Answer } from '../aws.ts';
import type { Deployment } from '../deployment.ts';
import { expectSameWords } from '../testing/recording-shell.ts';
import type { Check } from './check.ts';
import { checkAll } from './checks.ts';
import type { Orphan } from './orphans.ts';
import type { AwsFacts } from './read-aws.ts';
import type { ClusterFacts, Manager, NamedCluster } from './read-cluster.ts';
import { render } from './run.ts';

const seen = E.right;
const unseen = E.left('forbidden');

const deployment: Deployment = {
  key: { namespace: 'capaf-system', name: 'capaf-controller-manager' },
  provider: 'infrastructure-aws-fargate',
  version: 'dev',
  replicas: 2,
  ready: 2,
  serviceAccount: 'capaf-manager',
  args: [],
  region: undefined,
};
const manager: Manager = {
  deployment,
  isElsewhere: false,
  flags: undefined,
  mistake: undefined,
  account: { namespace: 'capaf-system', name: 'capaf-manager' },
  roleArn: seen(undefined),
  missing: [{ role: 'ClusterRole capaf-system-manager', permissions: seen([]) }],
  lease: {
    name: 'capaf-system/capaf-leader-election',
    spec: seen({ holderIdentity: 'a', leaseDurationSeconds: 15, renewTime: new Date(NOW - 10_000).toISOString() }),
  },
};
const credentials = (status: 'True' | 'False', message = ''): NamedCluster['condition'] => {
  const lastTransitionTime = '2026-11-21T00:00:00Z';
  return { type: 'CredentialsReady', status, message, lastTransitionTime, object: 'team-a/web' };
};
const named: NamedCluster = {
  namespace: 'team-a',
  name: 'team-a_prod-control-plane' as NamedCluster['name'],
  region: 'eu-west-1',
  identity: 'the manager itself',
  condition: undefined,
  externalId: undefined,
  problem: undefined,
  roleArn: undefined,
  isManager: true,
  account: undefined,
};
const crd = { ...ourCrd, metadata: { ...ourCrd.metadata, uid: 'u', resourceVersion: '1' } } as unknown as KubeObject;
const healthy: ClusterFacts = {
  version: seen({ major: '1', minor: '34', gitVersion: 'v1.34.1' }),
  managerNamespace: 'capaf-system',
  deployments: seen([deployment]),
  manager,
  crd: seen(crd),
  webhooks: seen({ entries: [], answer: { kind: 'noWebhook' } }),
  objects: seen([]),
  controlPlanes: seen([]),
  clusters: [{ ...named, condition: credentials('True') }],
};
const quiet: AwsFacts = {
  caller: seen({ account: '111122223333' }),
  assumed: new Map(),
  simulations: [{ principal: 'arn:aws:iam::111122223333:role/m', denials: seen([]) }],
  clusters: [],
  quotas: new Map(),
  roles: seen([]),
};
type Facts = AwsFacts & { readonly orphans: Answer<readonly Orphan[]> };

const linesOf = (checks: readonly Check[], results: readonly string[]): readonly string[] =>
  checks
    .filter(({ result }) => results.includes(result))
    .map(({ result, name, message }) => `${result} ${name}: ${message}`);
const told = (cluster: Partial<ClusterFacts>, { orphans = seen([]), ...aws }: Partial<Facts> = {}): readonly string[] =>
  linesOf(checkAll({ cluster: { ...healthy, ...cluster }, aws: { ...quiet, ...aws }, dns: undefined, orphans }, NOW), [
    'problem',
    'warning',
    'unchecked',
  ]);

type Case = readonly [given: string, cluster: Partial<ClusterFacts>, aws: Partial<Facts>, expected: readonly string[]];
const ofDeployment = (change: Partial<Deployment>): Partial<ClusterFacts> => ({
  manager: { ...manager, deployment: { ...deployment, ...change } },
});
const ofLease = (spec: NonNullable<Manager['lease']>['spec']): Partial<ClusterFacts> => ({
  manager: { ...manager, lease: { name: 'n/l', spec } },
});
const ofStoredVersions = (...storedVersions: readonly string[]): Partial<ClusterFacts> => ({
  crd: seen({ ...crd, status: { storedVersions } }),
});
const NAME = 'Deployment capaf-system/capaf-controller-manager';
const WEBHOOK = 'default.awsfargateprofile.infrastructure.cluster.x-k8s.io';
const entry = { phase: 'mutating', name: WEBHOOK, index: 0, isDecisive: true, configuration: crd } as const;

const CASES: readonly Case[] = [
  ['a healthy installation', {}, {}, []],
  [
    'an API server that is too old',
    { version: seen({ major: '1', minor: '29', gitVersion: 'v1.29.1' }) },
    {},
    [
      'problem Kubernetes: the API server is Kubernetes v1.29.1, but this provider needs v1.30 or newer; upgrade the management cluster',
    ],
  ],
  ['no ready pod', ofDeployment({ ready: 0 }), {}, [`problem ${NAME}: dev, 0 of 2 pods ready`]],
  ['one ready pod of two', ofDeployment({ ready: 1 }), {}, [`warning ${NAME}: dev, 1 of 2 pods ready`]],
  [
    'a manager of another release',
    ofDeployment({ version: 'v0.1.0' }),
    {},
    [`warning ${NAME}: v0.1.0, 2 of 2 pods ready; capaf dev checks what its own release needs`],
  ],
  ['an image without the tag of a release', ofDeployment({ version: 'registry.example/capaf' }), {}, []],
  [
    'providers that are named like a property of every JavaScript object',
    {
      deployments: seen(
        ['constructor', 'toString', '__proto__'].map((provider) => ({ ...deployment, provider, ready: 0 })),
      ),
    },
    {},
    [],
  ],
  [
    'arguments that the manager refuses',
    { manager: { ...manager, mistake: '--v: "x" is not a whole number' } },
    {},
    [`problem ${NAME}: the manager does not start: --v: "x" is not a whole number`],
  ],
  [
    'no Deployment in the namespace',
    {
      manager: {
        ...manager,
        deployment: undefined,
        isElsewhere: true,
        missing: [],
        lease: { name: 'n/l', spec: seen(undefined) },
      },
    },
    {},
    [
      'unchecked manager: no Deployment in namespace capaf-system, so its pods and permissions are not known',
      'unchecked Lease n/l: does not exist here',
    ],
  ],
  [
    'no CRD',
    { crd: seen(undefined) },
    {},
    ['problem CRD: awsfargateprofiles.infrastructure.cluster.x-k8s.io does not exist'],
  ],
  ['objects stored in versions of the CRD', ofStoredVersions('v1beta1', 'v1beta2', 'v1beta3'), {}, []],
  [
    'objects stored in a version that the CRD of the release lacks',
    ofStoredVersions('v1beta2', 'v1beta4'),
    {},
    [
      'warning stored versions: objects may be stored as v1beta4, which the CRD of capaf dev lacks: the API server refuses this CRD',
    ],
  ],
  [
    'a webhook of CAPA that nobody answers',
    { webhooks: seen({ entries: [entry], answer: { kind: 'notServed' } }) },
    {},
    [`problem CAPA webhooks: nothing answers ${WEBHOOK}, so the API server rejects each write of an AWSFargateProfile`],
  ],
  [
    'a webhook that CAPA answers',
    { webhooks: seen({ entries: [entry], answer: { kind: 'served', webhook: WEBHOOK } }) },
    {},
    [`problem CAPA webhooks: Cluster API Provider AWS answers ${WEBHOOK}, and changes profiles too`],
  ],
  [
    'a missing RBAC rule',
    { manager: { ...manager, missing: [{ role: 'Role r', permissions: seen(['get, list secrets', 'get leases']) }] } },
    {},
    ['problem Role r: ServiceAccount capaf-system/capaf-manager may not get, list secrets; get leases'],
  ],
  ['no Lease', ofLease(seen(undefined)), {}, ['problem Lease n/l: does not exist: no manager has started']],
  [
    'a Lease that was released',
    ofLease(seen({ holderIdentity: '' })),
    {},
    ['problem Lease n/l: nobody holds it: no manager runs'],
  ],
  [
    'a Lease whose holder has died',
    ofLease(seen({ holderIdentity: 'a', leaseDurationSeconds: 15, renewTime: new Date(NOW - 76_000).toISOString() })),
    {},
    ['problem Lease n/l: a has not renewed it since 2026-11-21T03:23:44.000Z'],
  ],
  [
    'a Lease with a time that is none',
    ofLease(seen({ holderIdentity: 'a', leaseDurationSeconds: 15, renewTime: 'soon' })),
    {},
    ['problem Lease n/l: a has not renewed it since soon'],
  ],
  ['an election that is off', { manager: { ...manager, lease: undefined } }, {}, []],
  [
    'an identity that does not exist',
    {
      clusters: [{ ...named, isManager: false, problem: { reason: 'IdentityNotFound', message: 'x does not exist' } }],
    },
    {},
    ['problem the manager itself: x does not exist'],
  ],
  [
    'an identity that capaf may not read',
    { clusters: [{ ...named, isManager: false, problem: { reason: 'IdentityUnreadable', message: 'forbidden' } }] },
    {},
    ['unchecked the manager itself: forbidden'],
  ],
  [
    'credentials that the manager does not get',
    {
      clusters: [
        { ...named, condition: credentials('False', 'AccessDenied') },
        { ...named, condition: credentials('True') },
      ],
    },
    {},
    ['problem the manager itself: AWSFargateProfile team-a/web: AccessDenied'],
  ],
  [
    'credentials that nothing shows to work',
    { clusters: [named, { ...named, isManager: false, identity: 'AWSClusterStaticIdentity keys' }] },
    {},
    [
      'unchecked the manager itself: no AWSFargateProfile shows that it gives credentials',
      'unchecked AWSClusterStaticIdentity keys: no AWSFargateProfile shows that it gives credentials',
    ],
  ],
  [
    'a role that capaf cannot assume either',
    { clusters: [{ ...named, isManager: false, roleArn: 'arn:r' as NamedCluster['roleArn'] }] },
    { assumed: new Map([['arn:r', E.left('AccessDenied')]]) },
    [
      'unchecked the manager itself: no AWSFargateProfile shows that it gives credentials; capaf cannot assume arn:r: AccessDenied',
    ],
  ],
  [
    'a role that capaf has assumed',
    { clusters: [{ ...named, isManager: false, roleArn: 'arn:r' as NamedCluster['roleArn'] }] },
    { assumed: new Map([['arn:r', seen({})]]) },
    [],
  ],
  [
    'a denied action',
    {},
    {
      simulations: [{ principal: 'role/m', denials: seen([{ sid: 'PassRole', action: 'iam:PassRole' }]) }],
    },
    ['problem IAM permissions: role/m may not iam:PassRole'],
  ],
  [
    'a denied action that is optional',
    {},
    {
      simulations: [
        {
          principal: 'role/m',
          denials: seen([{ sid: 'AccessEntries', action: 'eks:DeleteAccessEntry' }]),
        },
      ],
    },
    ['warning IAM permissions: role/m may not eks:DeleteAccessEntry'],
  ],
  [
    'an orphan, and an EKS cluster that AWS does not show',
    {},
    {
      orphans: seen([{ name: 'FargateProfile p', message: 'AWSFargateProfile n/p does not exist (c)', commands: [] }]),
      clusters: [{ cluster: named, region: named.region, profiles: unseen, free: unseen }],
      roles: E.left('--scan-roles looks for them'),
    },
    [
      'warning FargateProfile p: AWSFargateProfile n/p does not exist (c)',
      'unchecked EKS cluster team-a_prod-control-plane: forbidden',
      'unchecked IAM roles: --scan-roles looks for them',
    ],
  ],
];

describe('capaf doctor reports about', () => {
  for (const [given, cluster, aws, expected] of CASES)
    it(given, () => expect(told(cluster, aws)).to.deep.equal(expected));

  it('a user without any permission: only what it could not check', () => {
    const nothing: ClusterFacts = {
      ...healthy,
      version: unseen,
      deployments: unseen,
      manager: {
        ...manager,
        deployment: undefined,
        missing: [{ role: 'Role r', permissions: unseen }],
        lease: { name: 'n/l', spec: unseen },
      },
      crd: unseen,
      webhooks: unseen,
      objects: unseen,
      controlPlanes: unseen,
      clusters: [],
    };
    const lines = told(nothing, { caller: unseen, simulations: [], orphans: unseen });
    expect(lines).to.have.length(9);
    for (const line of lines) expect(line).to.match(/^unchecked .*: forbidden$/);
  });

  it('a webhook of CAPA: the configuration that contains the webhook', () => {
    const configuration = {
      ...crd,
      kind: 'MutatingWebhookConfiguration',
      metadata: { ...crd.metadata, name: 'capa-mutating-webhook-configuration' },
    };
    const webhooks = seen({ entries: [{ ...entry, configuration }], answer: { kind: 'notServed' } as const });
    const checks = checkAll({ cluster: { ...healthy, webhooks }, aws: quiet, dns: undefined, orphans: seen([]) }, NOW);
    expect(checks.find(({ name }) => name === 'CAPA webhooks')?.fix).to.equal(
      `Remove ${WEBHOOK} from MutatingWebhookConfiguration capa-mutating-webhook-configuration, or run the manager with --manage-crd`,
    );
  });

  it('roles: their number, only if it has read them', () => {
    const ofOrphans = (roles: AwsFacts['roles']): string | undefined =>
      checkAll({ cluster: healthy, aws: { ...quiet, roles }, dns: undefined, orphans: seen([]) }, NOW).find(
        ({ name }) => name === 'in AWS',
      )?.message;
    expect(ofOrphans(seen([]))).to.equal('none among 0 profiles and 0 roles');
    expect(ofOrphans(E.left('--scan-roles looks for them'))).to.equal('none among 0 profiles');
  });

  it('a CRD of an older release: the fields that the CRD lacks', () => {
    const older = structuredClone(crd) as unknown as {
      spec: {
        versions: { name: string; schema: { openAPIV3Schema: { properties: { spec: { properties: object } } } } }[];
      };
    };
    for (const { name, schema } of older.spec.versions)
      if (name === 'v1beta2')
        Reflect.deleteProperty(schema.openAPIV3Schema.properties.spec.properties, 'updateStrategy');
    const [line = ''] = told({ crd: seen(older as unknown as KubeObject) });
    expect(line).to.match(/^problem CRD: .* is of another release and lacks spec.updateStrategy$/);
  });
});

describe('the text of capaf doctor', () => {
  const checks: readonly Check[] = [
    { group: 'AWS', name: 'a', result: 'ok', message: 'fine' },
    { group: 'AWS', name: 'long', result: 'problem', message: 'bad\u001b[31m\nok  forged', fix: 'do\u202e this' },
  ];
  it('shows hostile text in one line, without control characters', () =>
    expect(stripVTControlCharacters(render(checks))).to.equal(
      'problems: 1, warnings: 0, not checked: 0, ok: 1\n\nAWS\n  ok        a      fine\n  problem   long   bad\\u001b[31m ok  forged\n    → do\\u202e this\n',
    ));
  it('is coloured on a terminal, which FORCE_COLOR imitates', () => {
    const { FORCE_COLOR } = process.env;
    try {
      process.env['FORCE_COLOR'] = '1';
      expect(render(checks)).to.contain('  \u001b[31mproblem\u001b[39m   long');
    } finally {
      if (FORCE_COLOR === undefined) delete process.env['FORCE_COLOR'];
      else process.env['FORCE_COLOR'] = FORCE_COLOR;
    }
  });
});

describe('the commands of the checks', () => {
  it('have the same words, whatever the names contain', () =>
    expectSameWords((text) => {
      const cluster: ClusterFacts = {
        ...healthy,
        manager: {
          ...manager,
          account: { namespace: text, name: text },
          deployment: { ...deployment, key: { namespace: text, name: text }, ready: 0 },
          lease: { name: text, spec: seen(undefined) },
        },
      };
      const checks = checkAll({ cluster, aws: quiet, dns: undefined, orphans: seen([]) }, NOW);
      return checks.flatMap(({ fix }) => /^See (kubectl .*)$/s.exec(fix ?? '')?.[1] ?? []);
    }));
});
