import { expect } from 'chai';
import { setTimeout as delay } from 'node:timers/promises';
import { applyCrds, loadCrds, type CrdManifest } from '../../envtest/clients/crds.ts';
import type { RawObject } from '../../envtest/clients/api.ts';
import { eventually } from '../../support/eventually.ts';
import { callsFromNow, profileMutations } from '../../world/aws/calls.ts';
import { OUR_CRD, fargateProfile, useWorld } from '../../world/world.ts';

const RECORD = 'aws-fargate.cluster.x-k8s.io/record';
const selecting = (namespace: string) => ({ selectors: [{ namespace }] });

/** The fields of our CRD that another version of the CRD lacks, and the validation rules, which name these fields. */
const LACKING = ['updateStrategy', 'predecessors', 'activeSince', 'createRequestedAt', 'x-kubernetes-validations'];

async function crdWithoutFields(): Promise<readonly CrdManifest[]> {
  const crds = await loadCrds(OUR_CRD);
  return JSON.parse(JSON.stringify(crds), (key, value: unknown) =>
    LACKING.includes(key) ? undefined : value,
  ) as readonly CrdManifest[];
}

describe('a CRD that lacks some fields, applied in the middle of a second replacement', () => {
  const world = useWorld();
  const object = async (): Promise<RawObject> => (await world.profile('web')) ?? expect.fail('there is no object');
  const profiles = () => world.aws.admin.profiles();
  const names = (): readonly string[] => profiles().map(({ name }) => name);

  before(async () => {
    // With this sync period, the manager compares the object with AWS all the time.
    await world.startManager({ flags: ['--sync-period', '500ms'] });
    await world.createEksCluster('prod');
    await world.apply(fargateProfile('web', { ...selecting('first'), updateStrategy: { type: 'Replace' } }));
    await world.ready('web');
    await world.patch('web', { spec: selecting('other') });
    await eventually(() => names().join() === '9999-default_web', { what: 'the end of the first replacement' });
    await world.condition('web', 'Ready', { status: 'True', reason: 'Ready' }, { generation: 2 });
  });

  it('costs neither the record nor a profile, although a write drops the fields meanwhile', async () => {
    const calls = callsFromNow(world.aws);
    world.aws.admin.setConfig({ eks: { createMs: 3_000 } });
    await world.patch('web', { spec: selecting('third') });
    await eventually(() => names().length === 2, { what: 'the second replacement' });
    await applyCrds(world.controlPlane.api, ...(await crdWithoutFields()));
    await eventually(async () => (await object()).spec?.['updateStrategy'] === undefined);
    await eventually(async () => (await world.manager.metric('capaf_foreign_schema')) === 1);
    const record = (await object()).metadata.annotations?.[RECORD];
    await world.patch('web', { metadata: { annotations: { touched: 'by another client' } } });
    await eventually(() => profiles().every(({ status }) => status === 'ACTIVE'));
    // If a comparison with AWS changed something, it would do so in this time.
    await delay(3_000);
    expect((await object()).metadata.annotations?.[RECORD]).to.equal(record);
    expect(profileMutations(calls)).to.deep.equal(['Create 9998-default_web']);
    await world.event('web', 'Warning ForeignSchema');
  });

  it('lets the replacement go on when our CRD is back', async () => {
    const calls = callsFromNow(world.aws);
    await applyCrds(world.controlPlane.api, OUR_CRD);
    await world.condition('web', 'Ready', { status: 'True', reason: 'PredecessorKept' });
    expect(names()).to.have.members(['9999-default_web', '9998-default_web']);
    await world.delete('web');
    await world.gone('web');
    expect(names()).to.deep.equal([]);
    expect(profileMutations(calls)).to.have.members(['Delete 9999-default_web', 'Delete 9998-default_web']);
  });
});
