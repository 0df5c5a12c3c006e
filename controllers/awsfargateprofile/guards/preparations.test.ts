import { expect } from 'chai';
import { fieldAt, textAt, type UnknownRecord } from 'controller-runtime/json';
import { ProfileName } from '../../../api/names.ts';
import { type AWSFargateProfile, FINALIZER, RECORD_ANNOTATION } from '../../../api/v1beta2/index.ts';
import { type ProfileRecord, readRecord } from '../../shared/record.ts';
import { newReason } from '../reasons/reasons.ts';
import { HERE, FULL_RECORD, PROFILE, aDeletedObject, anObject } from '../testing/builders.ts';
import { CONSTRUCTIVE, CREATE_PROFILE, DELETE_PROFILE, DESTRUCTIVE, describeObstacle } from '../testing/mutations.ts';
import { READY } from '../testing/completed-reconcile.ts';
import { awsAsDesired, awsWith, newServices, reconcileStateFor, writerThat } from '../testing/reconcile-state.ts';
import { type PreparationServices, recordChange, reportNotReady } from './preparations.ts';

type Writer = PreparationServices['profileWriter'];

/** Returns a writer that stores the record of each patch, and the patches that the API server has received. */
function storingWriter(): { readonly profileWriter: Writer; readonly patches: UnknownRecord[] } {
  const patches: UnknownRecord[] = [];
  const profileWriter: Writer = {
    ...writerThat(async () => expect.fail('status is written')),
    patchMetadata: async (object, patch) => {
      if (patch === undefined) return object;
      patches.push(patch);
      return withRecord(object, patch);
    },
  };
  return { profileWriter, patches };
}

const withRecord = ({ metadata, ...object }: AWSFargateProfile, patch: UnknownRecord): AWSFargateProfile => {
  const text = textAt(fieldAt(fieldAt(patch, 'metadata'), 'annotations'), RECORD_ANNOTATION);
  const annotations = { ...metadata.annotations, ...(text !== undefined && { [RECORD_ANNOTATION]: text }) };
  return { ...object, metadata: { ...metadata, resourceVersion: '101', annotations } };
};

const recordedIn = (object: AWSFargateProfile): ProfileRecord | undefined => {
  const read = readRecord(object);
  return read.kind === 'recorded' ? read.record : undefined;
};

describe('recordChange', () => {
  const allMutations = [...CONSTRUCTIVE, ...DESTRUCTIVE];

  it('writes before every change where to look in AWS, and goes on with the written object', async () => {
    for (const mutation of allMutations) {
      const reconcile = reconcileStateFor(awsWith());
      expect(await recordChange(storingWriter())(mutation, reconcile), mutation.kind).to.equal(undefined);
      expect(reconcile.object.metadata.resourceVersion).to.equal('101');
      expect(recordedIn(reconcile.object), mutation.kind).to.deep.include({ in: HERE });
      expect(recordedIn(reconcile.object), mutation.kind).to.deep.equal(reconcile.record);
      expect(reconcile.retry.state.recorded, 'this process remembers it').to.equal(reconcile.record);
    }
  });

  it('asks the API server once in a reconcile, also with an equal record, because the cache may be old', async () => {
    const { profileWriter, patches } = storingWriter();
    const reconcile = reconcileStateFor(awsAsDesired(), anObject({ record: FULL_RECORD }));
    for (const mutation of [DELETE_PROFILE, DELETE_PROFILE]) await recordChange({ profileWriter })(mutation, reconcile);
    expect(patches).to.deep.equal([{}]);
  });

  it('stops, and remembers no request, when another client has written the object first', async () => {
    const reconcile = reconcileStateFor(awsWith());
    const before = reconcile.record;
    const profileWriter = writerThat(async () => undefined);
    const obstacle = await recordChange({ profileWriter })(CREATE_PROFILE, reconcile);
    expect(obstacle).to.deep.equal({ kind: 'stop', reason: newReason('Conflict', {}) });
    expect(reconcile.record).to.equal(before);
    expect(reconcile.isConfirmed).not.to.equal(true);
    expect(reconcile.retry.state).to.deep.equal({});
  });

  it('stops before the record gets too long for a later reconcile to read', async () => {
    const profiles = Array.from({ length: 500 }, (_, index) => ({
      name: ProfileName.of(`${PROFILE}-${index}`.padEnd(90, 'x')),
    }));
    const reconcile = reconcileStateFor(awsWith());
    reconcile.record = { ...reconcile.record, profiles };
    const { profileWriter, patches } = storingWriter();
    expect(await recordChange({ profileWriter })(CREATE_PROFILE, reconcile)).to.deep.equal({
      kind: 'stop',
      reason: newReason('RecordUnreadable', { problem: 'would be longer than 32768 characters' }),
    });
    expect(patches).to.deep.equal([]);
  });

  it('changes nothing for an object without our finalizer', async () => {
    const bare = anObject({ metadata: { finalizers: [FINALIZER.replace('aws', 'xyz')] } });
    const { profileWriter, patches } = storingWriter();
    for (const mutation of allMutations) {
      const obstacle = await recordChange({ profileWriter })(mutation, reconcileStateFor(awsAsDesired(), bare));
      expect(describeObstacle(obstacle)).to.equal('stop: ReadAgain');
    }
    expect(patches).to.deep.equal([]);
  });
});

describe('reportNotReady', () => {
  const { clock } = newServices();
  const deleted = aDeletedObject({ record: FULL_RECORD, status: READY });

  it('writes that the object is not Ready before its profile is deleted, and goes on with the written object', async () => {
    const reconcile = reconcileStateFor(awsAsDesired(), deleted);
    const profileWriter = writerThat(async (object, status) =>
      status === undefined ? undefined : { ...object, status },
    );
    expect(await reportNotReady({ profileWriter, clock })(DELETE_PROFILE, reconcile)).to.equal(undefined);
    expect(reconcile.object.status).to.include({ ready: false });
  });

  it('writes nothing before other changes', async () => {
    const profileWriter = writerThat(async () => expect.fail('the object is written'));
    for (const mutation of CONSTRUCTIVE.filter(({ kind }) => kind === 'tagRole' || kind === 'setTrust')) {
      const reconcile = reconcileStateFor(awsAsDesired(), anObject({ record: FULL_RECORD, status: READY }));
      expect(await reportNotReady({ profileWriter, clock })(mutation, reconcile), mutation.kind).to.equal(undefined);
    }
  });
});
