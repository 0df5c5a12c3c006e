import { expect } from 'chai';
import type { CallRecord } from '../../aws/call-log.ts';
import type { RawObject } from '../../envtest/clients/api.ts';
import { eventually } from '../../support/eventually.ts';
import type { Calls } from '../../world/aws/calls.ts';
import { callsFromNow } from '../../world/aws/calls.ts';
import type { World } from '../../world/world.ts';
import { fargateProfile, startWorld } from '../../world/world.ts';

const CREATE_MS = 300;
const DELETE_MS = 200;
/** The name of the manager in its Events. */
const MANAGER = 'cluster-api-provider-aws-fargate';

const names = (what: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${what}-${String(index).padStart(2, '0')}`);
/** Twice as many clusters as the manager reconciles at the same time. */
const CLUSTERS = names('cluster', 20);
const PROFILES_PER_CLUSTER = 2;
const PROFILES = CLUSTERS.flatMap((clusterName) =>
  names(`${clusterName}-profile`, PROFILES_PER_CLUSTER).map((name) => ({ name, clusterName })),
);

describe('forty AWSFargateProfiles on twenty clusters', () => {
  let world: World;
  let calls: Calls;
  before(async () => {
    world = await startWorld({ config: { eks: { createMs: CREATE_MS, deleteMs: DELETE_MS } } });
    await Promise.all(CLUSTERS.map((name) => world.createEksCluster(name)));
    await world.startManager({ verbosity: 0 });
    calls = callsFromNow(world.aws);
  });
  after(() => world.finish());

  async function until(what: string, isSo: (profiles: readonly RawObject[]) => boolean): Promise<void> {
    await eventually(async () => isSo(await world.profiles()), { what, intervalMs: 200 });
  }

  it('all become Ready', async () => {
    const start = performance.now();
    await Promise.all(PROFILES.map(({ name, clusterName }) => world.apply(fargateProfile(name, { clusterName }))));
    await until('all of them being Ready', (profiles) => profiles.every(({ status }) => status?.['ready'] === true));
    print(`Ready after ${seconds(performance.now() - start)}`);
    expect(await world.profiles()).to.have.length(PROFILES.length);
    expect(world.aws.admin.profiles().map(({ status }) => status)).to.deep.equal(PROFILES.map(() => 'ACTIVE'));
  });

  it('all are deleted', async () => {
    const start = performance.now();
    await Promise.all(PROFILES.map(({ name }) => world.delete(name)));
    await until('all of them being gone', (profiles) => profiles.length === 0);
    print(`gone after ${seconds(performance.now() - start)}`);
    expect(world.aws.admin.profiles()).to.deep.equal([]);
  });

  it('AWS refuses no call', () => {
    expect(calls.failures()).to.deep.equal([]);
  });

  it('the manager emits no Warning', async () => {
    const { items } = await world.controlPlane.api.list<{ type: string; message: string; reportingComponent: string }>(
      '/api/v1/namespaces/default/events',
    );
    // kube-apiserver emits Warnings about the Service `kubernetes`, e.g. if it repairs the IP address of the Service.
    const events = items.filter(({ reportingComponent }) => reportingComponent === MANAGER);
    expect(events.filter(({ type }) => type !== 'Normal').map(({ message }) => message)).to.deep.equal([]);
    expect(events.length).to.be.at.least(PROFILES.length);
    expect(
      world.manager
        .log()
        .split('\n')
        .filter((line) => /^[EF]\d{4}/.test(line)),
    ).to.deep.equal([]);
  });

  it('each EKS cluster sees one change at a time', () => {
    const changes = new Map<string, CallRecord[]>();
    for (const call of calls.all()) {
      const { clusterName } = call.identifiers;
      if (!call.operation.endsWith('FargateProfile') || !call.mutates || clusterName === undefined) continue;
      changes.set(clusterName, [...(changes.get(clusterName) ?? []), call]);
    }
    expect([...changes.values()].map(({ length }) => length)).to.deep.equal(
      CLUSTERS.map(() => 2 * PROFILES_PER_CLUSTER),
    );
    for (const [cluster, [first, ...others]] of changes) {
      let before = first;
      for (const call of others) {
        const apart = (call.actedAt ?? 0) - (before?.actedAt ?? 0);
        const takes = before?.operation === 'CreateFargateProfile' ? CREATE_MS : DELETE_MS;
        expect(apart, `${before?.operation} and ${call.operation} in ${cluster}`).to.be.at.least(takes);
        before = call;
      }
    }
  });

  it('the manager process stays below its memory limit', async () => {
    const megabytes = (await world.manager.metric('process_resident_memory_bytes')) / 2 ** 20;
    print(`${megabytes.toFixed(0)} MB of resident memory`);
    expect(megabytes).to.be.within(10, 400);
  });
});

const seconds = (milliseconds: number): string => `${(milliseconds / 1_000).toFixed(1)} s`;
const print = (line: string): void => void process.stdout.write(`      ${line}\n`);
