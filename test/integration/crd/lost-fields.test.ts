import { expect } from 'chai';
import { setTimeout as delay } from 'node:timers/promises';
import type { ProfileView } from '../../aws/admin/views.ts';
import { applyCrds, loadCrds, type CrdManifest } from '../../envtest/clients/crds.ts';
import { eventually } from '../../support/eventually.ts';
import { callsFromNow, profileMutations } from '../../world/aws/calls.ts';
import { type World, OUR_CRD, fargateProfile, startWorld } from '../../world/world.ts';

const RECORD = 'aws-fargate.cluster.x-k8s.io/record';
const OWNER_TAG = 'sigs.k8s.io/cluster-api-provider-aws-fargate/owner';
const FIRST = { selectors: [{ namespace: 'first' }], updateStrategy: { type: 'Replace' } };
const SECOND = { selectors: [{ namespace: 'second' }] };
const THIRD = { selectors: [{ namespace: 'third' }] };

/** What another version of the CRD lacks, with the rules that name these fields. All other fields are ours. */
const LACKING = ['updateStrategy', 'predecessors', 'activeSince', 'createRequestedAt', 'x-kubernetes-validations'];

async function crdWithoutFields(): Promise<readonly CrdManifest[]> {
  const crds = await loadCrds(OUR_CRD);
  return JSON.parse(JSON.stringify(crds), (key, value: unknown) =>
    LACKING.includes(key) ? undefined : value,
  ) as readonly CrdManifest[];
}

describe('a CRD that lacks some fields, applied in the middle of a second replacement', () => {
  let world: World;
  const object = async () => (await world.profile('web')) ?? expect.fail('there is no object');
  const record = async () => (await object()).metadata.annotations?.[RECORD];
  const profiles = (): readonly ProfileView[] =>
    world.aws.admin.profiles().filter(({ tags }) => tags[OWNER_TAG] === 'default/web');
  const names = (): readonly string[] => profiles().map(({ name }) => name);
  /** Returns a function that lists what the manager has since created and deleted in EKS. */
  const changesFromNow = (): (() => readonly string[]) => {
    const calls = callsFromNow(world.aws, 'default_web');
    return () => profileMutations(calls);
  };

  before(async () => {
    world = await startWorld();
    // The manager compares the object with AWS all the time.
    await world.startManager({ flags: ['--sync-period', '500ms'] });
    await world.createEksCluster('prod');
    await world.apply(fargateProfile('web', FIRST));
    await world.ready('web');
    await world.patch('web', { spec: SECOND });
    const isReplaced = (): boolean => names().every((name) => name.startsWith('9999-'));
    await eventually(isReplaced, { what: 'the end of the first replacement' });
    await world.ready('web', { generation: 2 });
  });
  after(() => world.finish());

  it('costs neither the record nor a profile, although a write drops the fields meanwhile', async () => {
    const changes = changesFromNow();
    world.aws.admin.setConfig({ eks: { createMs: 3_000 } });
    await world.patch('web', { spec: THIRD });
    await eventually(() => names().length === 2, { what: 'the second replacement' });
    await applyCrds(world.controlPlane.api, ...(await crdWithoutFields()));
    await eventually(async () => (await object()).spec?.['updateStrategy'] === undefined);
    await eventually(async () => (await world.manager.metric('capaf_foreign_schema')) === 1);
    const before = await record();
    await world.patch('web', { metadata: { annotations: { touched: 'by another client' } } });
    await eventually(() => profiles().every(({ status }) => status === 'ACTIVE'));
    // Long enough for a few comparisons with AWS, each of which could do harm.
    await delay(3_000);
    expect(await record()).to.equal(before);
    expect(changes()).to.deep.equal(['Create 9998-default_web']);
    await world.event('web', 'Warning ForeignSchema');
  });

  it('lets the replacement go on when our CRD is back', async () => {
    const changes = changesFromNow();
    await applyCrds(world.controlPlane.api, OUR_CRD);
    await world.condition('web', 'Ready', { status: 'True', reason: 'PredecessorKept' });
    expect(names()).to.have.members(['9999-default_web', '9998-default_web']);
    await world.delete('web');
    await world.gone('web');
    expect(profiles()).to.deep.equal([]);
    expect(changes()).to.have.members(['Delete 9999-default_web', 'Delete 9998-default_web']);
  });
});
