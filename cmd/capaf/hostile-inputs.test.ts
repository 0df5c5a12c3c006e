import { stripVTControlCharacters } from 'node:util';
import { expect } from 'chai';
import fc from 'fast-check';
import { stringify } from 'yaml';
import type { KubeObject } from 'controller-runtime/client';
import { isRecord } from 'controller-runtime/json';
import { KubeconfigError } from 'controller-runtime/kubeconfig';
import { hasHidden } from 'controller-runtime/text';
import { toDeployment } from './deployment.ts';
import { decide } from './explain/decide.ts';
import { findLimits } from './explain/fargate-limits.ts';
import { podOf } from './explain/pod.ts';
import { type Explanation, formatExplanation } from './explain/run.ts';
import { entryCommands } from './explain/traps.ts';
import { findClaims } from './explain/volumes.ts';
import { openKube } from './kube.ts';
import { describePlan } from './plan/run.ts';
import { evictionOf, toBudgets } from './pods/budgets.ts';
import { describePods } from './pods/describe.ts';
import { toFargatePod } from './pods/read.ts';
import { reportOf } from './pods/run.ts';
import { eventNodes } from './status/objects.ts';
import { describeStatus } from './status/run.ts';
import { quietIo } from './testing/quiet-io.ts';
import { expectSameWords, hostileText } from './testing/recording-shell.ts';
import { placesIn, replaced, textsIn } from './testing/replaced-values.ts';
import type { TreeNode } from './tree.ts';
import { kubeconfigCommand } from './workload.ts';

const signal = new AbortController().signal;

/** Generates `value` with arbitrary JSON at one of its paths. */
const mutated = (value: unknown): fc.Arbitrary<unknown> =>
  fc
    .tuple(fc.constantFrom(...placesIn(value)), fc.oneof(fc.jsonValue(), hostileText))
    .map(([path, other]) => replaced(value, path, other));

const container = {
  name: 'main',
  image: 'nginx',
  ports: [{ containerPort: 80, hostPort: 80 }],
  env: [{ name: 'A', value: 'b' }],
  resources: { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '2' } },
  securityContext: { privileged: true, capabilities: { add: ['CAP_CHOWN'] } },
};
const POD = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'web-1',
    namespace: 'shop',
    uid: 'u',
    resourceVersion: '1',
    creationTimestamp: '2026-11-28T10:00:00Z',
    labels: { app: 'web', a: 'b', 'eks.amazonaws.com/fargate-profile': 'web' },
    annotations: { CapacityProvisioned: '0.25vCPU 0.5GB' },
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'r', controller: true }],
  },
  spec: {
    schedulerName: 'fargate-scheduler',
    nodeSelector: { 'kubernetes.io/os': 'linux' },
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] }],
        },
      },
    },
    containers: [container],
    initContainers: [container],
    volumes: [
      { name: 'a', persistentVolumeClaim: { claimName: 'data' } },
      { name: 'b', ephemeral: { volumeClaimTemplate: { spec: { storageClassName: 'gp2' } } } },
    ],
  },
  status: {
    phase: 'Pending',
    conditions: [{ type: 'PodScheduled', status: 'False', reason: 'r', message: 'm' }],
    containerStatuses: [{ name: 'main', state: { waiting: { message: 'm' } } }],
  },
};
const SELECTOR = { matchLabels: { app: 'web' }, matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] };
const BUDGET = {
  metadata: { name: 'web', namespace: 'shop' },
  spec: { selector: SELECTOR },
  status: { disruptionsAllowed: 0, desiredHealthy: 1, currentHealthy: 1 },
};
const EVENT = {
  metadata: { name: 'e', namespace: 'shop' },
  involvedObject: { name: 'web' },
  reason: 'r',
  message: 'm',
  type: 'Warning',
  lastTimestamp: '2026-11-28T10:00:00Z',
};
const DEPLOYMENT = {
  metadata: { name: 'capaf', namespace: 'capaf-system', labels: { a: 'b' } },
  spec: {
    replicas: 2,
    template: { spec: { containers: [{ name: 'manager', image: 'a:b', args: ['--x'], env: [] }] } },
  },
  status: { readyReplicas: 2 },
};

/** Adds metadata, as an API server does for each object. */
const withMetadata = (value: unknown, { metadata }: { readonly metadata: { readonly name: string } }): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Any',
  ...(isRecord(value) ? value : {}),
  metadata: { uid: 'u', resourceVersion: '1', ...metadata },
});

/** Every JavaScript object has properties with these names. */
const INHERITED = ['constructor', 'toString', '__proto__'];

async function explain(value: unknown): Promise<void> {
  const pod = podOf(value, 'default');
  if (pod === undefined) return;
  const selectors = [{ namespace: '*', labels: { '*': '*' } }];
  decide(pod, [{ name: 'web', status: 'ACTIVE', selectors }], true, 0);
  findLimits(pod, 'eu-west-1');
  await findClaims(pod, { documents: [value], client: undefined, why: '', signal });
}

function list(pod: unknown, budget: unknown, event: unknown, deployment: unknown): void {
  const seen = withMetadata(pod, POD);
  toFargatePod(seen);
  const budgets = toBudgets([withMetadata(budget, BUDGET)]);
  evictionOf(seen, budgets);
  evictionOf({ ...seen, status: { phase: 'Running' } }, budgets);
  eventNodes([withMetadata(event, EVENT)], 0);
  toDeployment(withMetadata(deployment, DEPLOYMENT));
}

/** `String` and `Number` throw for this object. */
const WITHOUT_VALUE = { toString: false, valueOf: false };

describe('capaf, with objects and files of any shape', () => {
  it('reads a file with any content, and explains its pod if the file has one', () =>
    fc.assert(fc.asyncProperty(mutated(POD), (value) => explain(value))));

  it('lists pods, budgets, events and Deployments whose contents are not as expected', () =>
    fc.assert(fc.property(mutated(POD), mutated(BUDGET), mutated(EVENT), mutated(DEPLOYMENT), list)));

  it('reads an object that cannot be converted, wherever it is', async () => {
    const variants = (object: object) => placesIn(object).map((path) => replaced(object, path, WITHOUT_VALUE));
    for (const pod of variants(POD)) {
      await explain(pod);
      list(pod, BUDGET, EVENT, DEPLOYMENT);
    }
    for (const budget of variants(BUDGET)) list(POD, budget, EVENT, DEPLOYMENT);
    for (const event of variants(EVENT)) list(POD, BUDGET, event, DEPLOYMENT);
    for (const deployment of variants(DEPLOYMENT)) list(POD, BUDGET, EVENT, deployment);
  });

  for (const name of INHERITED)
    it(`treats ${name} like any other text, wherever it is`, () => {
      const outputs = (text: string): readonly string[] =>
        textsIn(POD).map((path) => {
          const pod = toFargatePod(replaced(POD, path, text) as KubeObject);
          const seen = { ...pod, version: 'v1.33.5', outdated: true, eviction: null };
          const options = { outdated: true, output: 'text' } as const;
          const report = reportOf({ pods: [seen], controlPlane: null, unseen: [] }, options);
          return describePods({ namespace: 'shop', ...report }, 0);
        });
      const ordinary = 'x'.repeat(name.length);
      expect(outputs(name)).to.deep.equal(outputs(ordinary).map((text) => text.replaceAll(ordinary, name)));
    });
});

/** Checks that the output has the same lines, whether all texts are harmless or all are hostile. */
function expectSameLines(render: (text: string) => string): void {
  const lines = (text: string) => stripVTControlCharacters(render(text)).split('\n').length;
  fc.assert(
    fc.property(hostileText, (text) => {
      expect(lines(`a${text}`)).to.equal(lines('a'));
      expect(hasHidden(stripVTControlCharacters(render(`a${text}`)))).to.equal(false);
    }),
  );
}

describe('the output of capaf, whatever names, labels, events and messages contain', () => {
  it('has the lines of explain pod', () =>
    expectSameLines((text) => {
      const selector = { namespace: text, labels: { [text]: text }, matches: false, mismatch: text };
      const explanation: Explanation = {
        taker: text,
        summary: text,
        profiles: [{ name: text, status: text, object: text, matches: false, selectors: [selector] }],
        violations: [{ field: text, message: text }],
        said: [{ source: text, message: text, fix: null }],
        traps: [text],
        advice: [text],
        size: null,
        unseen: [text],
      };
      return formatExplanation(explanation);
    }));

  it('has the lines of plan', () =>
    expectSameLines((text) => {
      const outcome = { ready: 'False', reason: text, message: text } as const;
      const uncovered = [{ namespace: text, labels: { [text]: text } }];
      const fields = [{ name: text, before: text, after: { [text]: text }, replaces: text, uncovered }];
      const pods = { running: 2, withoutOwner: [text] };
      const changes = [{ operation: 'TagRole', resource: text, fields, after: text, pods }];
      const key = { namespace: text, name: text, clusterName: text, eksCluster: undefined, region: undefined };
      const object = { ...key, pausedBy: [text], changes, then: outcome, end: outcome, overlaps: text };
      return describePlan([object], text, [text]);
    }));

  it('has the lines of pods', () =>
    expectSameLines((text) => {
      const metadata = {
        ...POD.metadata,
        name: text,
        namespace: text,
        labels: { 'eks.amazonaws.com/fargate-profile': text },
        ownerReferences: [{ apiVersion: text, kind: text, name: text, uid: '', controller: true }],
      };
      const conditions = [{ type: 'PodScheduled', status: 'False', message: text }];
      const pod = toFargatePod({ ...POD, metadata, status: { phase: 'Pending', conditions } });
      const eviction = { allowed: false, budgets: [text] };
      const facts = { pods: [{ ...pod, version: text, outdated: true, eviction }], controlPlane: text, unseen: [text] };
      const options = { outdated: true, workloadKubeconfig: text, output: 'text' } as const;
      return describePods({ namespace: text, ...reportOf(facts, options) }, 0);
    }));

  it('has the lines of status', () =>
    expectSameLines((text) => {
      const node: TreeNode = {
        kind: text,
        name: text,
        state: text,
        result: 'ok',
        facts: { owner: text },
        message: text,
      };
      return describeStatus([{ ...node, children: [node] }], text, true);
    }));
});

describe('the commands of capaf, whatever the names contain', () => {
  it('have the same words if they replace an access entry', () =>
    expectSameWords((text) => entryCommands(text, text, text)));

  it('have the same words if they write a kubeconfig', () =>
    expectSameWords((text) => [kubeconfigCommand(text, text)]));
});

describe('a kubeconfig in a Secret', () => {
  const KUBECONFIG = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'prod',
    contexts: [{ name: 'prod', context: { cluster: 'prod', user: 'prod', namespace: 'shop' } }],
    clusters: [{ name: 'prod', cluster: { server: 'https://127.0.0.1:1', 'certificate-authority-data': 'YQ==' } }],
    users: [{ name: 'prod', user: { token: 't' } }],
  };
  async function open(text: string): Promise<void> {
    try {
      await using kube = openKube({}, quietIo(), { path: 'in Secret a/b', text });
      expect(kube.server).to.match(/^https?:/);
    } catch (error) {
      expect(error).to.be.instanceOf(KubeconfigError);
    }
  }

  it('is used, or is refused with what is wrong, whatever it contains', () =>
    fc.assert(
      fc.asyncProperty(
        fc.oneof(
          mutated(KUBECONFIG).map((value) => stringify(value)),
          hostileText,
          fc.string({ unit: fc.constantFrom(...'{}[]:,-&*!"\'#|> \n\ta1'.split('')) }),
        ),
        open,
      ),
    ));
});
