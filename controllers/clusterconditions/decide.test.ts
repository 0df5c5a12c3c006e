import { expect } from 'chai';
import type { KubeObject } from '../../pkg/kube/types.ts';
import { type Action, type ClusterInputs, decide, FARGATE_PROFILES_READY } from './decide.ts';

const NOW = '2026-01-02T03:04:05Z';
const BEFORE = '2025-01-01T00:00:00Z';
const GATE = { conditionType: FARGATE_PROFILES_READY };

interface ClusterParts {
  readonly apiVersion?: string;
  readonly metadata?: object;
  readonly spec?: object;
  readonly conditions?: readonly object[];
}

const clusterWith = (parts: ClusterParts = {}): KubeObject => ({
  apiVersion: parts.apiVersion ?? 'cluster.x-k8s.io/v1beta2',
  kind: 'Cluster',
  metadata: { name: 'prod', namespace: 'default', uid: 'u', resourceVersion: '1', ...parts.metadata },
  spec: { availabilityGates: [{ conditionType: 'Other' }, GATE], ...parts.spec },
  status: { conditions: [{ type: 'Available', status: 'True' }, ...(parts.conditions ?? [])] },
});

const profile = (name: string, ready?: object, status: object = {}): KubeObject => ({
  apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta2',
  kind: 'AWSFargateProfile',
  metadata: { name, namespace: 'default', uid: name, resourceVersion: '1' },
  spec: { clusterName: 'prod' },
  status: {
    conditions: [{ type: 'Stalled', status: 'False' }, ...(ready ? [{ type: 'Ready', ...ready }] : [])],
    ...status,
  },
});
const isReady = (name: string): KubeObject => profile(name, { status: 'True', reason: 'Ready', message: '' });
const notReady = (name: string, message = `EKS is creating Fargate profile "default_${name}"`): KubeObject =>
  profile(name, { status: 'False', reason: 'Creating', message });
const unknown = (name: string): KubeObject =>
  profile(name, { status: 'Unknown', reason: 'AWSUnavailable', message: 'AWS does not answer' });

function action(inputs: Partial<ClusterInputs> = {}): Action {
  return decide({ cluster: clusterWith(), profiles: [], watchFilter: undefined, timestamp: NOW, ...inputs });
}

/** Status, reason and message of the condition that `decide` sets; checks its type and time. */
function valueFor(profiles: readonly KubeObject[]): object {
  const decided = action({ profiles });
  if (decided.kind !== 'set') return expect.fail(decided.kind);
  const { type, lastTransitionTime, ...value } = decided.condition;
  expect({ type, lastTransitionTime }).to.deep.equal({ type: FARGATE_PROFILES_READY, lastTransitionTime: NOW });
  return value;
}

describe('the condition FargateProfilesReady', () => {
  const cases: readonly (readonly [name: string, profiles: readonly KubeObject[], value: object])[] = [
    [
      'is True if the Cluster has no profiles',
      [],
      { status: 'True', reason: 'NoProfiles', message: 'No AWSFargateProfile names this Cluster in spec.clusterName' },
    ],
    [
      'is True if all profiles are Ready',
      [isReady('a'), isReady('b'), isReady('c')],
      { status: 'True', reason: 'Ready', message: '3 of 3 AWSFargateProfiles are Ready' },
    ],
    [
      'is Unknown if profiles are Unknown and none is not Ready',
      [unknown('a'), isReady('b'), profile('new'), profile('bare', undefined, { conditions: null })],
      {
        status: 'Unknown',
        reason: 'ReadyUnknown',
        message:
          '* 1 of 4 AWSFargateProfiles are Ready\n* AWSFargateProfile a: AWS does not answer\n' +
          '* AWSFargateProfile new: The manager has not reported Ready yet\n' +
          '* AWSFargateProfile bare: The manager has not reported Ready yet',
      },
    ],
    [
      'names three profiles at most, first those that are not Ready',
      [unknown('a'), notReady('b', 'x'), unknown('c'), notReady('d', ''), isReady('e')],
      {
        status: 'False',
        reason: 'NotReady',
        message:
          '* 1 of 5 AWSFargateProfiles are Ready\n* AWSFargateProfile b: x\n* AWSFargateProfile d: Creating\n' +
          '* AWSFargateProfile a: AWS does not answer\n* And 1 more AWSFargateProfile not Ready',
      },
    ],
  ];
  for (const [name, profiles, value] of cases)
    it(name, () => {
      expect(valueFor(profiles)).to.deep.equal(value);
    });

  it('has one short line for each profile, which cannot control a terminal', () => {
    const { message } = valueFor([notReady('web', `one\n\ttwo \u001b[2J${'😀'.repeat(300)}`)]) as { message: string };
    const [, line = ''] = message.split('\n');
    expect(message.split('\n')).to.have.length(2);
    expect(line).to.match(/^\* AWSFargateProfile web: one two \\u001b\[2J😀+…$/u);
    expect(line)
      .to.have.lengthOf('* AWSFargateProfile web: '.length + 200)
      .and.satisfy((text: string) => text.isWellFormed());
  });
});

describe('a Cluster with the gate FargateProfilesReady', () => {
  const current = { type: FARGATE_PROFILES_READY, status: 'True', reason: 'Ready', lastTransitionTime: BEFORE };
  const message = '1 of 1 AWSFargateProfile is Ready';

  it('keeps the time of the last transition if only the message changed', () => {
    const cluster = clusterWith({ conditions: [{ ...current, message: '2 of 2 AWSFargateProfiles are Ready' }] });
    const condition = { ...current, message };
    expect(action({ cluster, profiles: [isReady('web')] })).to.deep.equal({ kind: 'set', condition });
  });

  it('gets a new time with a new status', () => {
    const cluster = clusterWith({ conditions: [{ ...current, message }] });
    const set = action({ cluster, profiles: [notReady('web')] });
    expect(set).to.have.nested.property('condition.lastTransitionTime', NOW);
  });
});

describe('the status of a Cluster is not written', () => {
  const noGate = { spec: { availabilityGates: [{ conditionType: 'Other' }] } };
  const cases: readonly (readonly [name: string, cluster: KubeObject, watchFilter?: string])[] = [
    ['if its spec does not list the gate', clusterWith(noGate)],
    ['if its spec has no gates', clusterWith({ spec: { availabilityGates: undefined } })],
    ['if the API server serves it in v1beta1 only', clusterWith({ apiVersion: 'cluster.x-k8s.io/v1beta1' })],
    ['while spec.paused is true', clusterWith({ spec: { paused: true } })],
    [
      'while the annotation pauses it',
      clusterWith({ metadata: { annotations: { 'cluster.x-k8s.io/paused': 'true' } } }),
    ],
    [
      'while clusterctl moves it',
      clusterWith({ metadata: { annotations: { 'clusterctl.cluster.x-k8s.io/delete-for-move': '' } } }),
    ],
    ['if it does not have the label of the watch filter', clusterWith(), 'blue'],
  ];
  for (const [name, cluster, watchFilter] of cases)
    it(name, () => {
      expect(action({ cluster, watchFilter })).to.deep.equal({ kind: 'none' });
    });

  it('unless it has the label of the watch filter', () => {
    const cluster = clusterWith({ metadata: { labels: { 'cluster.x-k8s.io/watch-filter': 'blue' } } });
    expect(action({ cluster, watchFilter: 'blue' })).to.have.property('kind', 'set');
  });
});
