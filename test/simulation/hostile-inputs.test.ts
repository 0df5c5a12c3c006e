import { expect } from 'chai';
import { type Identity, decodeFargateGroup, ROLE_IDENTITY_KIND } from '../../api/external/index.ts';
import { right } from 'fp-ts/lib/Either.js';
import type { TypedLookup } from 'controller-runtime/cache';
import {
  createKubeClient,
  errorFromResponse,
  type KubeClient,
  KubeError,
  type KubeObject,
  type ObjectKey,
} from 'controller-runtime/client';
import { formatText } from 'controller-runtime/log';
import { VirtualClock } from 'controller-runtime/testing';
import { errorMessage, toPrintableLine } from 'controller-runtime/text';
import { AccountId, ClusterName, EksClusterName, ProfileName, RoleName } from '../../api/names.ts';
import {
  type AWSFargateProfile,
  PLURAL,
  RECORD_ANNOTATION,
  decodeAWSFargateProfile,
  describeProblems,
} from '../../api/v1beta2/index.ts';
import { findOrphans } from '../../cmd/capaf/doctor/orphans.ts';
import { objectNames } from '../../cmd/capaf/import/run.ts';
import { alignColumns } from '../../cmd/capaf/io.ts';
import { findBlocker } from '../../controllers/awsfargateprofile/plan/blockers.ts';
import { recordPatch } from '../../controllers/awsfargateprofile/goal/metadata.ts';
import { messageOf, newReason } from '../../controllers/awsfargateprofile/reasons/reasons.ts';
import { eventsAfter } from '../../controllers/awsfargateprofile/report/events.ts';
import { settingsOfSharers } from '../../controllers/awsfargateprofile/guards/role-users/settings.ts';
import { Competition, findRivals, withOverlap } from '../../controllers/awsfargateprofile/overlap/condition.ts';
import { statusAfter } from '../../controllers/awsfargateprofile/report/status.ts';
import {
  PLACE,
  RECORDED,
  ROLE_ARN,
  aProfile,
  aRole,
  anObject,
  desiredOf,
  observed,
} from '../../controllers/awsfargateprofile/testing/builders.ts';
import { observedReconcile } from '../../controllers/awsfargateprofile/testing/completed-reconcile.ts';
import { findDependentIdentities } from '../../controllers/identities/identities.ts';
import { resolveIdentity } from '../../controllers/identities/identity-chain.ts';
import { evaluateSelector } from '../../controllers/identities/allowed-namespaces.ts';
import { Secrets } from '../../controllers/identities/secrets.ts';
import { withFieldsOfGroup } from '../../controllers/instancegroups/profile-spec.ts';
import { apiRejectionFrom } from '../../controllers/shared/api-rejections.ts';
import { readRecord } from '../../controllers/shared/record.ts';
import * as cloud from '../../pkg/cloud/index.ts';
import type { AwsFailure } from '../../pkg/cloud/index.ts';
import { parseRoleArn } from '../../pkg/fargate/arns.ts';
import { keikoNames } from '../../pkg/fargate/keiko-names.ts';
import { findProfileNameProblem } from '../../pkg/fargate/names.ts';
import { NO_LIMITS, findEksClusterExcess, findRoleExcess } from '../../pkg/fargate/operator-limits.ts';
import { areSelectorsEqual } from '../../pkg/fargate/selectors.ts';
import { tagDrift } from '../../pkg/fargate/tags/tag-drift.ts';
import { foldCase } from '../../pkg/fargate/tags/tag-keys.ts';
import { profileTags, roleTags } from '../../pkg/fargate/tags/tags-to-set.ts';
import { areTrustPoliciesEqual, checkTrust } from '../../pkg/fargate/trust-policy.ts';
import { matchesWildcard } from '../../pkg/fargate/wildcard.ts';
import { CLUSTER, CONTROL_PLANE_REF, MINUTE } from './world/cluster.ts';
import { INSTANCE_GROUPS } from './world/kinds.ts';
import { recordAnnotation } from './world/records.ts';
import { SimulatedWorld } from './world/simulated-world.ts';

type Work = () => unknown;

/** An input of the manager, whose processor time must not grow faster than its size. */
interface Input {
  readonly name: string;
  /** The size of the largest such input, in characters unless the name says otherwise. */
  readonly size: number;
  /** Makes the input of the given size. Returns the work of the manager with it. */
  readonly prepare: (size: number) => Work;
}

const KIB = 1_024;
/** The maximum total length of the annotations of an object. */
const ANNOTATIONS = 256 * KIB;
/** The length of a text in a record. The manager reads no record that is longer than 32 KiB. */
const RECORD = 16 * KIB;
/** The maximum length of the managed policy of a role of AWS; trust policies are shorter. */
const POLICY = 130 * KIB;
/** The maximum size of an object in etcd. */
const OBJECT = 1_500 * KIB;

/** A sample must take at least this processor time, so that interrupts of the machine do not matter. */
const SAMPLE_MS = 2;
const SAMPLES = 3;
/**
 * How many times larger the whole input is than the part. V8 stores large texts differently from small texts, and on a
 * busy machine, only small texts fit into the processor caches. Together, these effects can make a linear algorithm six
 * times slower, so the step must be large.
 */
const STEP = 32;
/**
 * The maximum factor by which the cost may grow. It lies between `step` (a linear algorithm) and its square (a
 * quadratic one).
 */
const mostGrowth = (step: number): number => step ** 1.65;

async function cost(work: Work, times: number): Promise<number> {
  const before = process.cpuUsage();
  for (let time = 0; time < times; time++) await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/** Returns how many calls take SAMPLE_MS once V8 has compiled the code. Before that, a call takes many times longer. */
async function callsOfSample(work: Work): Promise<number> {
  let times = 1;
  for (let fastEnough = 0; fastEnough < SAMPLES; fastEnough++)
    if ((await cost(work, times)) < SAMPLE_MS) [times, fastEnough] = [times * 2, -1];
  return times;
}

/**
 * Returns how many times more processor time an input costs than a part of it. Other programs on the machine,
 * compilations and garbage collections can only lengthen a sample, so the shortest sample counts. While the result is
 * too high, the function takes more samples, up to ten times as many.
 */
async function growthOf({ size, prepare }: Input, step = STEP): Promise<number> {
  const [part, whole] = [prepare(Math.floor(size / step)), prepare(size)];
  const times = await callsOfSample(part);
  let [shortest, longest] = [Infinity, Infinity];
  const isTooHigh = (): boolean => longest > mostGrowth(step) * shortest;
  for (let sample = 0; sample < SAMPLES || (isTooHigh() && sample < 10 * SAMPLES); sample++) {
    longest = Math.min(longest, await cost(whole, times));
    shortest = Math.min(shortest, await cost(part, times));
  }
  return longest / shortest;
}

/** Texts that cost much time in expressions with `\s*`, `.*`, `[^)]*` or alternatives. */
const TEXTS: readonly ((size: number) => string)[] = [
  (size) => `a${' '.repeat(size)}b`,
  (size) => `a${'\n'.repeat(size)}b`,
  (size) => `a${' \n'.repeat(size / 2)}b`,
  (size) => `a${',;( '.repeat(size / 4)}b`,
  (size) => '\u202e'.repeat(size),
  (size) => 'failed calling webhook "'.repeat(size / 24),
  (size) => '(Service: '.repeat(size / 10),
  (size) => 'request id '.repeat(size / 11),
  (size) => 'role with name '.repeat(size / 15),
  (size) => `currently has Fargate profile${' '.repeat(size)}in status`,
  (size) => '/'.repeat(size),
  (size) => '😀'.repeat(size / 2),
];

/** Returns an input that consists of all {@link TEXTS}. The manager processes one text after the other. */
const ofTexts = (name: string, size: number, work: (text: string) => unknown): Input => ({
  name,
  size,
  prepare: (length) => {
    const texts = TEXTS.map((textOf) => textOf(length));
    return async () => {
      for (const text of texts) await work(text);
    };
  },
});

const predicates: readonly ((failure: AwsFailure) => unknown)[] = Object.entries(cloud).flatMap(([name, value]) =>
  /^(?:is|busy|describe)[A-Z]/.test(name) ? [value as (failure: AwsFailure) => unknown] : [],
);
const CODES = ['InvalidParameterException', 'ResourceInUseException', 'NoSuchEntity', 'AccessDenied'];

/** Applies all functions with which the manager classifies and describes an AWS error. */
function classify(message: string): void {
  for (const code of CODES) {
    const thrown = { name: code, message, $fault: 'client', $metadata: { httpStatusCode: 400 } };
    const call = { service: 'eks', operation: 'CreateFargateProfile', progress: 'sent' } as const;
    const failure = cloud.toAwsFailure(call, thrown);
    // `toAwsFailure` cuts the message. With the whole message, the test shows that the predicates are linear even
    // without the cut.
    for (const predicate of predicates) predicate({ ...failure, message });
    messageOf(newReason('Refused', { detail: cloud.describeFailure(failure) }));
  }
}

const SCOPE = { ...PLACE, cluster: EksClusterName.of('a'.repeat(100)) };
const ALLOW = { Effect: 'Allow', Principal: { Service: 'eks-fargate-pods.amazonaws.com' }, Action: 'sts:AssumeRole' };
const like = (...patterns: readonly string[]): object => ({
  ...ALLOW,
  Condition: { StringLike: { 'aws:SourceArn': patterns } },
});
const policyOf = (...statements: readonly object[]): string => JSON.stringify({ Statement: statements });
const repeated = <A>(count: number, make: (index: number) => A): readonly A[] =>
  Array.from({ length: Math.floor(count) }, (_, index) => make(index));

const policies: Readonly<Record<string, (size: number) => string>> = {
  'a pattern with many stars': (size) => policyOf(like(`${'*a'.repeat(size / 2)}b`)),
  'many patterns with ten stars': (size) => policyOf(like(...repeated(size / 25, () => `${'*a'.repeat(10)}b`))),
  'many statements': (size) => policyOf(...repeated(size / 180, (index) => like(`${index}*`))),
  'many conditions': (size) =>
    policyOf({ ...ALLOW, Condition: Object.fromEntries(repeated(size / 30, (n) => [`Op${n}`, { 'a:b': ['c'] }])) }),
  'many actions': (size) => policyOf({ ...ALLOW, Action: repeated(size / 20, () => '*s*t*s*:*A*R*ole*x') }),
};

const identity = (index: number, count: number): Identity => ({
  kind: ROLE_IDENTITY_KIND,
  metadata: { name: `i${index}`, uid: `u${index}`, resourceVersion: '1' },
  spec: {
    allowedNamespaces: {},
    roleARN: ROLE_ARN,
    ...(index + 1 < count && { sourceIdentityRef: { kind: ROLE_IDENTITY_KIND, name: `i${index + 1}` } }),
  },
});

const kubeObject = (over: object): KubeObject => ({
  apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta2',
  kind: 'AWSFargateProfile',
  metadata: { namespace: 'team-a', name: 'web', uid: 'u', resourceVersion: '1' },
  ...over,
});

/** Reads a Secret with this data. */
function readSecret(data: Readonly<Record<string, string>>): Promise<unknown> {
  const client = { get: async () => kubeObject({ kind: 'Secret', data }) } as unknown as KubeClient;
  const secrets = new Secrets({ client, clock: new VirtualClock(), namespace: 'capaf-system', resync: 60_000 });
  return secrets.read('keys', new AbortController().signal);
}

/** Watches a kind. The API server sends `text`, in pieces of 64 bytes. */
async function watchInPieces(text: string): Promise<void> {
  const bytes = Buffer.from(text);
  const body = repeated(Math.ceil(bytes.length / 64), (index) => bytes.subarray(index * 64, (index + 1) * 64));
  const transport = { host: 'kubernetes', send: async () => ({ status: 200, headers: {}, body }) };
  const client = createKubeClient({ transport, clock: new VirtualClock() });
  const options = { resourceVersion: '1', timeoutSeconds: 60, signal: new AbortController().signal };
  for await (const event of client.watch({ ...INSTANCE_GROUPS, version: 'v1' }, options))
    expect(event.type).to.equal('ADDED');
}

/** Returns the work of comparing an object with others of its EKS cluster, and of reporting the result. */
function overlapOf(object: AWSFargateProfile, others: readonly AWSFargateProfile[]): Work {
  const competition = new Competition({ byIndex: () => ({ kind: 'listed', entries: [] }) }, NO_LIMITS);
  const status = {
    account: AccountId.of('123456789012'),
    region: 'eu-west-1',
    eksClusterName: EksClusterName.of('prod'),
  };
  const [me, ...rivals] = [object, ...others].map((each) => competition.competitorOf({ ...each, status }));
  if (me === undefined) throw new Error('the object does not compete');
  const known = rivals.filter((each) => each !== undefined);
  return () => withOverlap({}, object, me, findRivals(me, known), 0);
}

/** Returns what a reconcile does with the record in an object's annotation or status. */
const workOnRecord = (object: AWSFargateProfile): Work => {
  const replaced = { ...object, spec: { ...object.spec, updateStrategy: { type: 'Replace' } as const } };
  const seen = observed({ profile: aProfile() });
  return () => {
    const desired = desiredOf(replaced, {}, seen);
    return [statusAfter(observedReconcile({ object: replaced, desired, seen })), recordPatch(replaced, desired.record)];
  };
};

const withRecord = (text: string): AWSFargateProfile =>
  anObject({ metadata: { annotations: { [RECORD_ANNOTATION]: text } } });

/** Returns a record with the given fields. The manager keeps fields that it does not know. */
const recordWith = (fields: object): string => JSON.stringify({ v: 1, for: 'team-a/web', ...fields });

const INPUTS: readonly Input[] = [
  ofTexts('a message', ANNOTATIONS, toPrintableLine),
  ofTexts('an error of AWS', 32 * KIB, classify),
  ofTexts('the record', RECORD, (text) =>
    [
      text,
      '['.repeat(text.length),
      '{"a":'.repeat(text.length / 5),
      recordWith({ in: text }),
      recordWith({ in: `111122223333/${text}/c` }),
      recordWith({ identity: text, entry: text }),
      recordWith({ profiles: [{ name: text }] }),
    ].map((record) => readRecord(withRecord(record))),
  ),
  ofTexts('unknown fields of the record', RECORD, (text) => workOnRecord(withRecord(recordWith({ newer: text })))()),
  {
    name: 'a record (number of entries)',
    size: 300,
    prepare: (count) => {
      const profiles = repeated(count, (n) => ({ name: `${'é'.repeat(20)}-${n}`, served: true }));
      const roles = repeated(count, (n) => ({ name: `r${n}` }));
      return workOnRecord(
        withRecord(recordWith({ in: '111122223333/eu-west-1/team-a_prod-control-plane', profiles, roles })),
      );
    },
  },
  ofTexts('an answer of the API server', ANNOTATIONS, (message) => {
    const text = JSON.stringify({ kind: 'Status', code: 400, reason: 'BadRequest', message });
    const error = errorFromResponse('patching', 'PATCH', { status: 400, headers: {}, text });
    return [apiRejectionFrom(error), apiRejectionFrom(new KubeError(message, { status: 400, reason: 'BadRequest' }))];
  }),
  ofTexts('a name', ANNOTATIONS, (text) => [
    parseRoleArn(`arn:aws:iam::111122223333:role${text}`),
    findProfileNameProblem(text),
    keikoNames(EksClusterName.of(text), { namespace: 'a', name: 'b' }),
    messageOf(
      newReason('WaitingForEKSControlPlane', {
        detail: `AWSManagedControlPlane ${text} does not exist`,
        remedy: 'Wait',
      }),
    ),
    withFieldsOfGroup(text),
  ]),
  ofTexts('a log line', 32 * KIB, (text) =>
    formatText({ severity: 'info', at: 0, message: 'm', keys: { text }, error: new Error('e', { cause: text }) }),
  ),
  ofTexts('errors that wrap each other', ANNOTATIONS, (text) =>
    errorMessage(new Error(text, { cause: new Error(text.slice(1), { cause: new Error(`b${text}`) }) })),
  ),
  ofTexts('a tag', 64 * KIB, (text) => {
    const clusterName = ClusterName.of('prod');
    const object = { spec: { clusterName, additionalTags: { [text]: text } } };
    return profileTags({ namespace: 'a', name: 'b', clusterName }, object, { b: text });
  }),
  ofTexts('a Secret', ANNOTATIONS, (text) => {
    const value = Buffer.from(text).toString('base64');
    return readSecret({ AccessKeyID: value, SecretAccessKey: value });
  }),
  ...Object.entries(policies).map(([kind, documentOf]): Input => ({
    name: `a trust policy with ${kind}`,
    size: POLICY,
    prepare: (size) => {
      const trust = documentOf(size);
      const other = policyOf(...(JSON.parse(trust) as { readonly Statement: readonly object[] }).Statement, ALLOW);
      return () => [checkTrust(trust, SCOPE), areTrustPoliciesEqual(trust, other)];
    },
  })),
  {
    name: 'a wildcard pattern with many stars',
    size: 64 * KIB,
    prepare: (size) => {
      const pattern = `${'a*'.repeat(size / 2)}b`;
      return () => matchesWildcard(pattern, 'a'.repeat(250));
    },
  },
  {
    name: 'a name that is compared with the limits of the operator',
    size: 64 * KIB,
    prepare: (size) => {
      const name = 'a'.repeat(size);
      const pattern = `${'a*'.repeat(10)}b`;
      const place = { account: PLACE.account, region: PLACE.region };
      const eksClusters = [{ ...place, namespace: pattern, name: pattern }];
      return () => [
        findRoleExcess({ roleArns: [pattern] }, 'spec.roleARN', name),
        findEksClusterExcess({ eksClusters }, name, { ...place, name }),
      ];
    },
  },
  {
    name: 'a role with a hostile trust policy that the operator does not allow',
    size: POLICY,
    prepare: (size) => {
      const desired = desiredOf(anObject({ spec: { roleARN: ROLE_ARN } }), { limits: { roleArns: [] } });
      const seen = observed({ role: aRole({ trust: policies['a pattern with many stars']?.(size) ?? '' }) });
      return () => findBlocker(desired, seen);
    },
  },
  {
    name: 'a list of health issues (number of issues)',
    size: 2_000,
    prepare: (count) => {
      const issue = { code: 'AccessDenied', message: ' \n'.repeat(500), resourceIds: repeated(20, String) };
      const reconcile = observedReconcile({
        seen: observed({ profile: aProfile({ health: repeated(count, () => issue) }) }),
      });
      return () => [statusAfter(reconcile), eventsAfter(reconcile)];
    },
  },
  {
    name: 'a list of selectors in a profile (number of selectors)',
    size: 4_000,
    prepare: (count) => {
      const selectors = repeated(count, (n) => ({
        namespace: `n${n}`,
        labels: { [`k${n % 7}`]: '*'.repeat(50), a: 'b' },
      }));
      return () => areSelectorsEqual(selectors, selectors.toReversed());
    },
  },
  {
    name: 'selectors of objects that compete for pods (number of selectors and length of patterns)',
    size: 16 * KIB,
    prepare: (size) => {
      // The matcher of wildcards takes longest for a long text behind the last star that differs at its end.
      const pattern = `*${'a'.repeat(size / 2)}b`;
      const rival = (name: string, text: string) => {
        const labels = { a: text, b: text.slice(0, 63), [text]: '*' };
        const selectors = [{ namespace: '*', labels: { [text]: '*' } }, { namespace: text.slice(0, 63) }];
        return anObject({
          metadata: { name },
          spec: { selectors: [...selectors, ...repeated(size, () => ({ namespace: text, labels }))] },
        });
      };
      return overlapOf(rival('z', 'a'.repeat(size)), [rival('one', pattern), rival('two', '*?a'.repeat(size / 3))]);
    },
  },
  {
    name: 'a group of objects that compete for pods (number of objects)',
    size: 3_200,
    prepare: (count) => {
      const rival = (name: string, text: string) => {
        const labels = Object.fromEntries(repeated(5, (n) => [`${text}${n}`, text]));
        return anObject({ metadata: { name }, spec: { selectors: repeated(5, () => ({ namespace: '*', labels })) } });
      };
      return overlapOf(
        rival('z', 'a'.repeat(60)),
        repeated(count, (n) => rival(`rival-${n}`, `*${'a'.repeat(30)}b`)),
      );
    },
  },
  {
    name: 'a group of objects that share a role (number of objects)',
    size: 800,
    prepare: (count) => {
      const roleName = RoleName.of('shared');
      const sharers = repeated(count, (n) =>
        anObject({
          metadata: { name: `s-${n}`, uid: `s-${n}` },
          spec: { roleName, additionalTags: { [`key-${n}`]: 'v' } },
        }),
      );
      const role = {
        name: roleName,
        place: PLACE,
        eksCluster: EksClusterName.of('prod'),
        limits: NO_LIMITS,
        controlPlaneTags: {},
      };
      return () => settingsOfSharers(anObject({ spec: { roleName } }), sharers, role, [aProfile()]);
    },
  },
  {
    name: 'the status of an object without a record (number of predecessors)',
    size: 4_000,
    prepare: (count) => {
      const predecessors = repeated(count, (n) => ({
        name: ProfileName.of(`${'é'.repeat(80)}-${n}`),
        status: 'ACTIVE',
      }));
      return workOnRecord(anObject({ metadata: { annotations: {} }, status: { ...RECORDED, predecessors } }));
    },
  },
  {
    name: 'a set of tags (number of tags)',
    size: 8_000,
    prepare: (count) => {
      const tags = Object.fromEntries(repeated(count, (n) => [`key-${n}`, 'v']));
      const clusterName = ClusterName.of('prod');
      const object = { spec: { clusterName, additionalTags: tags } };
      return () => [
        tagDrift(
          { tags, additions: Object.keys(tags), keysOfOthers: Object.keys(tags) },
          { tags, additions: Object.keys(tags) },
          foldCase,
        ),
        roleTags({ eksClusterArn: 'a', namespace: 'b', clusterName }, object, tags),
        profileTags({ namespace: 'a', name: 'b', clusterName }, object, tags),
      ];
    },
  },
  {
    name: 'an object with wrong fields (number of fields)',
    size: 4_000,
    prepare: (count) => {
      const labels = Object.fromEntries(repeated(count, (n) => [`${'k'.repeat(50)}${n}`, n]));
      const selectors = [{ namespace: 'a'.repeat(count), labels }];
      const object = kubeObject({ spec: { clusterName: 7, selectors } });
      return () => {
        const decoded = decodeAWSFargateProfile(object);
        expect(decoded._tag === 'Left' && describeProblems(decoded.left)).to.contain('more');
      };
    },
  },
  {
    name: 'a label selector of allowedNamespaces, and the labels of the Namespace (number of entries)',
    size: 4_000,
    prepare: (count) => {
      const labels = Object.fromEntries(repeated(count, (n) => [`${'a.'.repeat(20)}b/k${n}`, 'v']));
      const values = [...repeated(count, (n) => `v${n}`), 'v'];
      const matchExpressions = [{ key: `${'a.'.repeat(20)}b/k1`, operator: 'In', values }];
      return () => {
        expect(evaluateSelector({ matchLabels: labels, matchExpressions }, labels)).to.have.property('right', true);
      };
    },
  },
  {
    name: 'a label key',
    size: ANNOTATIONS,
    prepare: (size) => {
      const keys = [`${'a-'.repeat(size / 2)}/b`, 'a.'.repeat(size / 2), `a/${'-'.repeat(size)}`];
      return () => keys.map((key) => evaluateSelector({ matchLabels: { [key]: key } }, {}));
    },
  },
  {
    name: 'the last applied configuration of an InstanceGroup (number of selectors)',
    size: 3_000,
    prepare: (count) => {
      const selectors = repeated(count, (n) => ({ [`namespace-${n}`]: null, labels: { a: 'b' } }));
      const spec = (named: readonly object[]): object => ({
        provisioner: 'eks-fargate',
        strategy: { type: 'managed' },
        'eks-fargate': { clusterName: 'c', selectors: named, tags: repeated(count, (n) => ({ [`t${n}`]: 'v' })) },
      });
      const applied = JSON.stringify({ spec: spec(selectors) });
      const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': applied };
      const group = { metadata: { annotations }, spec: spec(selectors.map(({ labels }) => ({ labels }))) };
      return () => {
        expect(decodeFargateGroup(group)).to.have.property('_tag', 'Right');
      };
    },
  },
  {
    name: 'the last applied configuration of an AWSFargateProfile (number of empty labels)',
    size: 4_000,
    prepare: (count) => {
      const labels = Object.fromEntries(repeated(count, (n) => [`label-${n}`, null]));
      const selectors = repeated(count, (n) => ({ namespace: `namespace-${n}`, ...(n === 0 && { labels }) }));
      const applied = JSON.stringify({ spec: { selectors } });
      const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': applied };
      const named = selectors.map(({ namespace }, n) => ({ namespace, ...(n === 0 && { labels: {} }) }));
      const object = anObject({ metadata: { annotations }, spec: { selectors: named } });
      return () => {
        expect(findBlocker(desiredOf(object), observed())).to.have.property('name', 'InvalidSpec');
      };
    },
  },
  {
    name: 'a chain of identities (number of identities)',
    size: 4_000,
    prepare: (count) => {
      const identities = repeated(count, (index) => identity(index, count));
      const byName = new Map(identities.map((each) => [each.metadata.name, each]));
      const reference = { kind: ROLE_IDENTITY_KIND, name: 'i0' };
      const last = { ...reference, name: `i${count - 1}` };
      return () => {
        expect(findDependentIdentities([last], identities).size).to.equal(count);
        const lookup = ({ name }: ObjectKey): TypedLookup<Identity> => {
          const found = byName.get(name);
          return found === undefined
            ? { kind: 'absent' }
            : { kind: 'found', object: kubeObject({}), decoded: { _tag: 'Right', right: found } };
        };
        const namespaces = { lookup: () => ({ kind: 'absent' }) as const };
        const caches = { identitiesOf: () => ({ served: true, lookup }), namespaces };
        const chain = resolveIdentity(reference, 'team-a', caches);
        expect(chain).to.have.property('_tag', 'Right');
      };
    },
  },
  {
    name: 'a file for capaf with profiles of the same name (number of profiles)',
    size: 8_000,
    prepare: (count) => {
      const sources = repeated(count, () => ({ name: ProfileName.of('web') }));
      return () => objectNames(sources);
    },
  },
  {
    name: 'the roles and objects among which capaf looks for orphans (number of each)',
    size: 1_600,
    prepare: (count) => {
      const role = { name: 'r', arn: ROLE_ARN, clusterArn: 'c', namespace: 'team-a' };
      const roles = repeated(count, (n) => ({ ...role, name: RoleName.of(`r${n}`) }));
      const objects = repeated(count, (n) => ({ ...anObject({ metadata: { name: `o${n}` } }) }));
      return () => findOrphans({ clusters: [], roles: right(roles) }, objects);
    },
  },
  {
    name: 'a capaf table with a long cell (number of rows)',
    size: 3_200,
    prepare: (count) => {
      const rows = repeated(count, (n) => [n === 0 ? 'x'.repeat(count * 10) : 'x', 'end']);
      return () => alignColumns(rows).join('\n').search('y');
    },
  },
  {
    name: 'an object that arrives in small pieces',
    size: OBJECT,
    prepare: (size) => {
      const line = `${JSON.stringify({ type: 'ADDED', object: kubeObject({ text: 'x'.repeat(size) }) })}\n`;
      return () => watchInPieces(line);
    },
  },
];

const GROUP = INSTANCE_GROUPS.plural;

/**
 * Runs a manager in a simulation in which each text of a tenant and of AWS has the given size, until the manager has
 * reported all objects.
 */
async function runManager(size: number): Promise<void> {
  const world = new SimulatedWorld();
  world.awsRegion = 'us-east-1';
  world.api.serve(INSTANCE_GROUPS);
  const spaces = (count = size): string => `a${' \n'.repeat(count / 2)}b`;
  const annotations = recordAnnotation({ name: 'annotated' }, { in: `123456789012/${spaces()}/c` });
  const status = {
    conditions: [{ type: 'Ready', status: 'False', message: spaces(), lastTransitionTime: '2026-01-01T00:00:00Z' }],
  };
  const names = ['annotated', 'misnamed', 'refused', 'undecodable', 'labelled'];
  world.create('clusters', {
    metadata: { name: 'lost' },
    spec: { controlPlaneRef: { ...CONTROL_PLANE_REF, name: spaces() } },
  });
  world.applyWith('refused', { roleAdditionalPolicies: ['arn:aws:iam::aws:policy/p'] });
  world.aws.admin.addFault({ operation: 'CreateRole', kind: `error:InvalidInput:${spaces(Math.min(size, 32 * KIB))}` });
  const base = { selectors: [{ namespace: 'a' }], clusterName: CLUSTER };
  world.create(PLURAL, { metadata: { name: 'annotated', annotations }, spec: base });
  world.create(PLURAL, { metadata: { name: 'misnamed' }, spec: { ...base, clusterName: 'lost' } });
  world.create(PLURAL, { metadata: { name: 'undecodable' }, spec: { ...base, clusterName: [spaces()] } });
  const managedFields = [{ manager: spaces(), fieldsV1: { [spaces()]: {} } }];
  const labels = Object.fromEntries(repeated(size / 64, (n) => [`k${n}`, spaces(60)]));
  world.create(PLURAL, { metadata: { name: 'labelled', labels, managedFields }, spec: base });
  world.patch(PLURAL, 'refused', { status }, 'status');
  world.create(GROUP, {
    metadata: { name: 'group' },
    spec: {
      provisioner: 'eks-fargate',
      strategy: { type: spaces() },
      'eks-fargate': { clusterName: spaces(), selectors: [] },
    },
  });
  world.start('--instance-groups', '--allow-eks-cluster=*=123456789012/us-east-1/*');
  const isReported = (name: string): boolean => world.condition(name)?.reason !== undefined;
  await world.until('all are reported', () => names.every(isReported), MINUTE);
  await world.clock.advance(MINUTE);
  expect(world.object(GROUP, 'group')).to.have.nested.property('status.currentState', 'Error');
  await world.stopAll();
}

describe('The processor time of the manager and capaf grows no faster than the size of', () => {
  for (const input of INPUTS)
    it(input.name, async () => {
      expect(await growthOf(input), 'how much more the whole input costs than its part').to.be.at.most(
        mostGrowth(STEP),
      );
    });

  // The texts are a small part of what a whole manager does, so a larger step would hide how their cost grows.
  it('all text from a tenant and AWS in a complete manager', async () => {
    const whole: Input = { name: 'all', size: 64 * KIB, prepare: (size) => () => runManager(size) };
    expect(await growthOf(whole, 4)).to.be.at.most(mostGrowth(4));
  });
});
