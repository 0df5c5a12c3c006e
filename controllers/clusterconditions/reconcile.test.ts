import { expect } from 'chai';
import { isRecord } from '../../api/record.ts';
import { MemoryLogger } from '../../pkg/env/testing/memory-logger.ts';
import { VirtualClock } from '../../pkg/env/testing/virtual-clock.ts';
import { Store } from '../../pkg/kube/cache/store.ts';
import { KubeError } from '../../pkg/kube/errors.ts';
import type { ApplyOptions, KubeObject } from '../../pkg/kube/types.ts';
import type { Requeue } from '../../pkg/runtime/reconcile.ts';
import { BY_CLUSTER, clusterOf } from '../shared/caches.ts';
import { ClusterConditionReconciler } from './reconcile.ts';

const KEY = { namespace: 'default', name: 'prod' };
const TYPE = 'FargateProfilesReady';
const GATES = { availabilityGates: [{ conditionType: TYPE }] };
const AVAILABLE = { type: 'Available', status: 'False', reason: 'NotAvailable', message: '' };

/** A reconciler whose API server has one Cluster. */
class Fixture {
  readonly clock = new VirtualClock();
  readonly logger = new MemoryLogger();
  readonly events: string[] = [];
  /** The applied configurations, each with the options of its request. */
  readonly writes: object[] = [];
  remaining = 15_000;
  /** If set, the API server answers each server-side apply with this error. */
  error: KubeError | undefined;
  /** Whether another field manager has set the condition too, so that this controller cannot remove the condition. */
  isShared = false;
  /** How often the reconciler has read the AWSFargateProfiles of the Cluster. */
  reads = 0;
  private version = 1;
  private readonly profiles = new Store({
    name: 'profiles',
    logger: this.logger,
    indexes: { [BY_CLUSTER]: clusterOf },
  });
  private readonly clusters = new Store({ name: 'clusters', logger: this.logger });
  private cluster: KubeObject | undefined;
  private readonly reconciler = new ClusterConditionReconciler({
    client: { apply: async (_resource, _key, object, options) => this.apply(object, options) },
    profiles: {
      byIndex: (index, value) => {
        this.reads += 1;
        return this.profiles.byIndex(index, value);
      },
    },
    clusters: this.clusters,
    leadership: { remaining: () => this.remaining },
    recorder: {
      record: ({ metadata }, type, reason, message) =>
        this.events.push(`${metadata.name} ${type} ${reason}: ${message}`),
    },
    clock: this.clock,
  });

  constructor() {
    this.setProfiles();
    this.setCluster(GATES);
  }

  setProfiles(...ready: readonly string[]): void {
    const profile = (status: string, index: number): KubeObject => ({
      apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta2',
      kind: 'AWSFargateProfile',
      metadata: { ...this.meta(`p${index}`) },
      spec: { clusterName: KEY.name },
      status: { conditions: [{ type: 'Ready', status, reason: 'Because', message: '' }] },
    });
    this.profiles.replaceAll(ready.map(profile), String(this.version));
  }

  setCluster(spec: object, conditions: readonly object[] = [AVAILABLE]): void {
    const cluster = { apiVersion: 'cluster.x-k8s.io/v1beta2', kind: 'Cluster', metadata: this.meta(KEY.name) };
    this.cluster = { ...cluster, spec, status: { conditions } };
    this.clusters.replaceAll([this.cluster], String(this.version));
  }

  removeCluster(): void {
    this.clusters.replaceAll([], String((this.version += 1)));
  }

  conditions(): readonly object[] {
    const status = this.cluster?.['status'];
    return isRecord(status) && Array.isArray(status['conditions']) ? (status['conditions'] as object[]) : [];
  }

  pass(): Promise<Requeue> {
    return this.reconciler.reconcile(KEY, { logger: this.logger, signal: new AbortController().signal });
  }

  private apply(object: unknown, { subresource, fieldManager }: ApplyOptions): KubeObject {
    this.writes.push({ object, subresource, fieldManager });
    if (this.error !== undefined) throw this.error;
    const applied = isRecord(object) && isRecord(object['status']) ? (object['status']['conditions'] as object[]) : [];
    const others = this.conditions().filter((each) => this.isShared || !('type' in each && each.type === TYPE));
    this.setCluster(this.cluster?.['spec'] as object, [...others, ...applied]);
    return this.cluster as KubeObject;
  }

  private meta(name: string): KubeObject['metadata'] {
    return { namespace: KEY.namespace, name, uid: `uid-${name}`, resourceVersion: String((this.version += 1)) };
  }
}

describe('the reconciler of the condition of a Cluster', () => {
  let fixture: Fixture;
  beforeEach(() => {
    fixture = new Fixture();
  });
  const forbidden = new KubeError(
    'applying status of clusters default/prod: clusters.cluster.x-k8s.io "prod" is forbidden: User "capaf" cannot patch resource "clusters/status" in API group "cluster.x-k8s.io" in the namespace "default"',
    { status: 403, reason: 'Forbidden' },
  );

  it('applies its condition alone, to this very Cluster, and not again', async () => {
    fixture.setProfiles('True', 'False');
    expect(await fixture.pass()).to.deep.equal({ kind: 'done' });
    const condition = {
      type: TYPE,
      status: 'False',
      reason: 'NotReady',
      message: '* 1 of 2 AWSFargateProfiles are Ready\n* AWSFargateProfile p1: Because',
      lastTransitionTime: '2026-11-21T03:25:00Z',
    };
    expect(fixture.writes).to.deep.equal([
      {
        object: {
          apiVersion: 'cluster.x-k8s.io/v1beta2',
          kind: 'Cluster',
          metadata: { ...KEY, uid: 'uid-prod' },
          status: { conditions: [condition] },
        },
        subresource: 'status',
        fieldManager: 'capaf-cluster-conditions',
      },
    ]);
    expect(fixture.conditions()).to.deep.equal([AVAILABLE, condition]);
    await fixture.clock.advance(5_000);
    expect(await fixture.pass()).to.deep.equal({ kind: 'done' });
    expect(fixture.writes).to.have.length(1);
  });

  it('writes nothing to a Cluster that does not list the gate', async () => {
    fixture.setCluster({ availabilityGates: [{ conditionType: 'Other' }] });
    expect(await fixture.pass()).to.deep.equal({ kind: 'done' });
    expect(fixture.writes).to.deep.equal([]);
  });

  it('writes a burst of changes at most every five seconds', async () => {
    await fixture.pass();
    fixture.setProfiles('False');
    await fixture.clock.advance(2_000);
    const reads = fixture.reads;
    expect(await fixture.pass()).to.deep.include({ kind: 'after', delay: 3_000 });
    expect(fixture.reads, 'lists of profiles while the Cluster is not written').to.equal(reads);
    fixture.setProfiles('True');
    await fixture.clock.advance(3_000);
    expect(await fixture.pass()).to.deep.equal({ kind: 'done' });
    expect(fixture.writes).to.have.length(2);
    expect(fixture.conditions().at(-1)).to.include({ message: '1 of 1 AWSFargateProfile is Ready' });
  });

  it('removes the condition without its gate, by applying none', async () => {
    await fixture.pass();
    fixture.setCluster({}, fixture.conditions());
    await fixture.clock.advance(5_000);
    await fixture.pass();
    expect(fixture.writes.at(-1)).to.have.property('object').that.does.not.have.property('status');
    expect(fixture.conditions()).to.deep.equal([AVAILABLE]);
  });

  it('asks once for the removal of a condition that is not its own', async () => {
    fixture.isShared = true;
    fixture.setCluster({}, [AVAILABLE, { type: TYPE, status: 'True', reason: 'Manual', message: '' }]);
    for (const _time of [1, 2, 3]) {
      expect(await fixture.pass()).to.deep.equal({ kind: 'done' });
      await fixture.clock.advance(60_000);
    }
    expect(fixture.writes).to.have.length(1);
  });

  it('says which permission is missing, in the log and in an event, and asks again only after five minutes', async () => {
    fixture.error = forbidden;
    expect(await fixture.pass()).to.deep.include({ kind: 'after', delay: 300_000 });
    const [event = ''] = fixture.events;
    expect(event).to.match(/^prod Warning APIServerRefused: .*cannot patch resource "clusters\/status"/);
    expect(event).to.contain('Apply the ClusterRole and the ClusterRoleBinding capaf-system-cluster-conditions');
    expect(JSON.stringify(fixture.logger.lines)).to.contain('cannot patch resource');
    await fixture.clock.advance(200_000);
    await fixture.pass();
    expect(fixture.writes).to.have.length(1);
    fixture.error = undefined;
    await fixture.clock.advance(100_000);
    await fixture.pass();
    expect(fixture.conditions()).to.have.length(2);
  });

  it('tries again after a conflict, ends quietly with the Cluster, and leaves other errors to the backoff', async () => {
    fixture.error = new KubeError('conflict', { status: 409, reason: 'Conflict' });
    expect(await fixture.pass()).to.deep.equal({ kind: 'conflict' });
    fixture.error = new KubeError('not found', { status: 404, reason: 'NotFound' });
    expect(await fixture.pass()).to.deep.equal({ kind: 'done' });
    fixture.error = new KubeError('no answer', { status: 0, reason: 'NoAnswer' });
    expect(await fixture.pass().catch(String)).to.contain('no answer');
    expect(fixture.events).to.deep.equal([]);
    fixture.removeCluster();
    expect(await fixture.pass()).to.deep.equal({ kind: 'done' });
    expect(fixture.writes).to.have.length(3);
  });

  it('writes nothing after the lease', async () => {
    fixture.remaining = 0;
    expect(await fixture.pass()).to.have.property('kind', 'backoff');
    expect(fixture.writes).to.deep.equal([]);
  });
});
