import { expect } from 'chai';
import { fieldAt, textAt, type UnknownRecord } from 'controller-runtime/json';
import { ProfileName } from '../../../api/names.ts';
import { type AWSFargateProfile, FINALIZER, RECORD_ANNOTATION } from '../../../api/v1beta2/index.ts';
import { type ProfileRecord, readRecord } from '../../shared/record.ts';
import { newReason } from '../reasons/reasons.ts';
import { HERE, RECORDED_THERE, NOW, PROFILE, aDeletedObject, anObject } from '../testing/builders.ts';
import { CONSTRUCTIVE, CREATE_PROFILE, DELETE_PROFILE, DESTRUCTIVE, describeObstacle } from '../testing/mutations.ts';
import { READY } from '../testing/completed-pass.ts';
import { awsAsWanted, awsWith, newServices, passStateFor, writerThat } from '../testing/pass-state.ts';
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
      const pass = passStateFor(awsWith());
      expect(await recordChange(storingWriter())(mutation, pass), mutation.kind).to.equal(undefined);
      expect(pass.object.metadata.resourceVersion).to.equal('101');
      expect(recordedIn(pass.object), mutation.kind).to.deep.include({ in: HERE });
      expect(recordedIn(pass.object), mutation.kind).to.deep.equal(pass.record);
      expect(pass.retry.state.recorded, 'this process remembers it').to.equal(pass.record);
    }
  });

  it('writes the name of a profile, and when AWS was asked for it, before the request', async () => {
    const pass = passStateFor(awsWith());
    await recordChange(storingWriter())(CREATE_PROFILE, pass);
    expect(recordedIn(pass.object)?.profiles).to.deep.equal([{ name: PROFILE, requestedAt: NOW }]);
  });

  it('asks the API server once in a pass, also with an equal record, because the cache may be old', async () => {
    const { profileWriter, patches } = storingWriter();
    const pass = passStateFor(awsAsWanted(), anObject({ record: RECORDED_THERE }));
    for (const mutation of [DELETE_PROFILE, DELETE_PROFILE]) await recordChange({ profileWriter })(mutation, pass);
    expect(patches).to.deep.equal([{}]);
  });

  it('stops, and remembers no request, when another client has written the object first', async () => {
    const pass = passStateFor(awsWith());
    const before = pass.record;
    const profileWriter = writerThat(async () => undefined);
    const obstacle = await recordChange({ profileWriter })(CREATE_PROFILE, pass);
    expect(obstacle).to.deep.equal({ kind: 'stop', reason: newReason('Conflict', {}) });
    expect(pass.record).to.equal(before);
    expect(pass.isConfirmed).not.to.equal(true);
    expect(pass.retry.state).to.deep.equal({});
  });

  it('stops before the record gets too long for a later pass to read', async () => {
    const profiles = Array.from({ length: 500 }, (_, index) => ({
      name: ProfileName.of(`${PROFILE}-${index}`.padEnd(90, 'x')),
    }));
    const pass = passStateFor(awsWith());
    pass.record = { ...pass.record, profiles };
    const { profileWriter, patches } = storingWriter();
    expect(await recordChange({ profileWriter })(CREATE_PROFILE, pass)).to.deep.equal({
      kind: 'stop',
      reason: newReason('RecordUnreadable', { problem: 'would be longer than 32768 characters' }),
    });
    expect(patches).to.deep.equal([]);
  });

  it('changes nothing for an object without our finalizer', async () => {
    const bare = anObject({ metadata: { finalizers: [FINALIZER.replace('aws', 'xyz')] } });
    const { profileWriter, patches } = storingWriter();
    for (const mutation of allMutations) {
      const obstacle = await recordChange({ profileWriter })(mutation, passStateFor(awsAsWanted(), bare));
      expect(describeObstacle(obstacle)).to.equal('stop: Outdated');
    }
    expect(patches).to.deep.equal([]);
  });
});

describe('reportNotReady', () => {
  const { clock } = newServices();
  const deleted = aDeletedObject({ record: RECORDED_THERE, status: READY });

  it('writes that the object is not Ready before its profile is deleted, and goes on with the written object', async () => {
    const pass = passStateFor(awsAsWanted(), deleted);
    const profileWriter = writerThat(async (object, status) =>
      status === undefined ? undefined : { ...object, status },
    );
    expect(await reportNotReady({ profileWriter, clock })(DELETE_PROFILE, pass)).to.equal(undefined);
    expect(pass.object.status).to.include({ ready: false });
  });

  it('stops when another client has written the object first', async () => {
    const profileWriter = writerThat(async () => undefined);
    const obstacle = await reportNotReady({ profileWriter, clock })(
      DELETE_PROFILE,
      passStateFor(awsAsWanted(), deleted),
    );
    expect(describeObstacle(obstacle)).to.equal('stop: Conflict');
  });

  it('writes nothing before other changes', async () => {
    const profileWriter = writerThat(async () => expect.fail('the object is written'));
    for (const mutation of CONSTRUCTIVE.filter(({ kind }) => kind === 'tagRole' || kind === 'setTrust')) {
      const pass = passStateFor(awsAsWanted(), anObject({ record: RECORDED_THERE, status: READY }));
      expect(await reportNotReady({ profileWriter, clock })(mutation, pass), mutation.kind).to.equal(undefined);
    }
  });
});
