import { expect } from 'chai';
import { applyCrds, loadCrds, type CrdManifest } from '../../envtest/clients/crds.ts';
import { eventually } from '../../support/eventually.ts';
import { OUR_CRD, fargateProfile, useWorld } from '../../world/world.ts';
import {
  EAGER,
  FIRST,
  OTHER,
  RECORD,
  REPLACE,
  THIRD,
  backUp,
  change,
  changesFromNow,
  namesOf,
  profilesOf,
  replaced,
  severalComparisons,
} from './records.ts';

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
  before(async () => {
    await world.startManager(EAGER);
    await world.createEksCluster('prod');
    await world.apply(fargateProfile('web', { ...FIRST, ...REPLACE }));
    await world.ready('web');
    await change(world, 'web', OTHER);
    await replaced(world, 'web');
  });

  it('costs neither the record nor a profile, although a write drops the fields meanwhile', async () => {
    const changes = changesFromNow(world, 'web');
    world.aws.admin.setConfig({ eks: { createMs: 3_000 } });
    await change(world, 'web', THIRD);
    await eventually(() => namesOf(world, 'web').length === 2, { what: 'the second replacement' });
    await applyCrds(world.controlPlane.api, ...(await crdWithoutFields()));
    await eventually(async () => (await backUp(world, 'web')).spec?.['updateStrategy'] === undefined);
    await eventually(async () => (await world.manager.metric('capaf_foreign_schema')) === 1);
    const record = (await backUp(world, 'web')).metadata.annotations?.[RECORD];
    await world.patch('web', { metadata: { annotations: { touched: 'by another client' } } });
    await eventually(() => profilesOf(world, 'web').every(({ status }) => status === 'ACTIVE'));
    await severalComparisons();
    expect((await backUp(world, 'web')).metadata.annotations?.[RECORD]).to.equal(record);
    expect(changes()).to.deep.equal(['Create 9998-default_web']);
    await world.event('web', 'Warning ForeignSchema');
  });

  it('lets the replacement go on when our CRD is back', async () => {
    const changes = changesFromNow(world, 'web');
    await applyCrds(world.controlPlane.api, OUR_CRD);
    await world.condition('web', 'Ready', { status: 'True', reason: 'PredecessorKept' });
    expect(namesOf(world, 'web')).to.have.members(['9999-default_web', '9998-default_web']);
    await world.delete('web');
    await world.gone('web');
    expect(profilesOf(world, 'web')).to.deep.equal([]);
    expect(changes()).to.have.members(['Delete 9999-default_web', 'Delete 9998-default_web']);
  });
});
