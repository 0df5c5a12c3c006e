import { expect } from 'chai';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import {
  ACCESS_ENTRY_DELETED_ANNOTATION,
  DELETION_REQUESTED_ANNOTATION,
  FINALIZER,
} from '../../../api/v1beta2/index.ts';
import { newReason } from '../reasons/reasons.ts';
import { anObject, aDeletedObject } from '../testing/builders.ts';
import {
  CONSTRUCTIVE,
  CREATE_PROFILE,
  DELETE_ACCESS_ENTRY,
  DELETE_PROFILE,
  DESTRUCTIVE,
  describeObstacle,
} from '../testing/mutations.ts';
import { passStateFor, awsAsWanted, newServices, storedObject, writerThat } from '../testing/pass-state.ts';
import { type PreparationServices, markDeletion, recordEntryDeletion, writeAhead } from './preparations.ts';

describe('markDeletion', () => {
  const newMarkDeletion = (written: 'written' | 'refused') => {
    const patches: string[] = [];
    const preparation = markDeletion({
      profileWriter: {
        patchMetadata: async (_object, patch) => {
          patches.push(JSON.stringify(patch));
          return written === 'written' ? aDeletedObject({ metadata: { resourceVersion: '101' } }) : undefined;
        },
        patchStatus: async () => expect.fail('status is written'),
      },
    });
    return { preparation, patches };
  };

  it('marks an object that is being deleted before each change that deletes something', async () => {
    for (const mutation of DESTRUCTIVE) {
      const { preparation, patches } = newMarkDeletion('written');
      const pass = passStateFor(awsAsWanted(), aDeletedObject());
      expect(await preparation(mutation, pass)).to.equal(undefined);
      expect(patches.join()).to.contain(DELETION_REQUESTED_ANNOTATION);
      expect(pass.object.metadata.resourceVersion, 'goes on with the written object').to.equal('101');
    }
  });

  it('marks no object before other changes', async () => {
    const { preparation, patches } = newMarkDeletion('refused');
    for (const mutation of CONSTRUCTIVE)
      expect(await preparation(mutation, passStateFor(awsAsWanted(), aDeletedObject()))).to.equal(undefined);
    expect(patches).to.deep.equal([]);
  });

  it('does not mark a living object whose profile is replaced', async () => {
    const { preparation, patches } = newMarkDeletion('refused');
    expect(await preparation(DELETE_PROFILE, passStateFor(awsAsWanted()))).to.equal(undefined);
    expect(patches).to.deep.equal([]);
  });
});

describe('recordEntryDeletion', () => {
  it('annotates an object whose profile needs the entry again, but not for the deletion of a role', async () => {
    for (const [because, isRecorded] of [
      ['roleRecreated', true],
      ['profileCreation', true],
      ['roleDeletion', false],
    ] as const) {
      const patches: string[] = [];
      const patchMetadata = async (object: AWSFargateProfile, patch: unknown) => {
        patches.push(JSON.stringify(patch));
        return object;
      };
      const profileWriter = { ...writerThat(async () => undefined), patchMetadata };
      const mutation = { ...DELETE_ACCESS_ENTRY, because };
      for (const each of [mutation, ...CONSTRUCTIVE])
        await recordEntryDeletion({ profileWriter })(each, passStateFor(awsAsWanted()));
      expect(patches, because).to.have.length(isRecorded ? 1 : 0);
      expect(patches.join().includes(ACCESS_ENTRY_DELETED_ANNOTATION), because).to.equal(isRecorded);
    }
  });
});

describe('writeAhead', () => {
  const allMutations = [...CONSTRUCTIVE, ...DESTRUCTIVE];
  const { clock } = newServices();

  it('writes status before every mutation, and goes on with the written object', async () => {
    for (const mutation of allMutations) {
      const pass = passStateFor(awsAsWanted());
      const profileWriter = writerThat(async (_object, status) =>
        status === undefined ? undefined : { ...anObject({ metadata: { resourceVersion: '101' } }), status },
      );
      expect(await writeAhead({ profileWriter, clock })(mutation, pass), mutation.kind).to.equal(undefined);
      expect(pass.object.metadata.resourceVersion).to.equal('101');
    }
  });

  it('asks the API server once, even if the record is there already, unless the deletion checks have asked', async () => {
    const asked: (boolean | undefined)[] = [];
    const profileWriter: PreparationServices['profileWriter'] = {
      ...writerThat(async (object) => object),
      patchStatus: async (object, status, _signal, options) => {
        asked.push(options?.evenIfEqual);
        return storedObject(object, status);
      },
    };
    const pass = passStateFor(awsAsWanted());
    for (const mutation of [DELETE_PROFILE, CREATE_PROFILE, CREATE_PROFILE])
      await writeAhead({ profileWriter, clock })(
        mutation,
        mutation === DELETE_PROFILE ? passStateFor(awsAsWanted()) : pass,
      );
    expect(asked).to.deep.equal([false, true, false]);
  });

  it('sends no change whose record the API server drops, as it does under the CRD of another provider', async () => {
    const profileWriter = writerThat(async (object, { createRequestedAt: _at, account: _account, ...status } = {}) => ({
      ...object,
      status,
    }));
    const obstacle = await writeAhead({ profileWriter, clock })(CREATE_PROFILE, passStateFor(awsAsWanted()));
    const because = 'the API server drops fields of status: account, createRequestedAt';
    expect(obstacle).to.deep.equal({ kind: 'stop', reason: newReason('NotNow', { because }) });
  });

  it('changes nothing for an object without our finalizer', async () => {
    const bare = anObject({ metadata: { finalizers: [FINALIZER.replace('aws', 'xyz')] } });
    const profileWriter = writerThat(async () => expect.fail('status is written'));
    for (const mutation of allMutations) {
      const obstacle = await writeAhead({ profileWriter, clock })(mutation, passStateFor(awsAsWanted(), bare));
      expect(describeObstacle(obstacle)).to.equal('stop: Outdated');
    }
  });
});
