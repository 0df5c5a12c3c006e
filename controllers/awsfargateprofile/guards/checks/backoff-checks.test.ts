import { expect } from 'chai';
import type { Mutation } from '../../model/mutation.ts';
import { messageOf, newReason } from '../../reasons/reasons.ts';
import { mutationKey, withRefusal } from '../../retry/refused-mutations.ts';
import { withAttempt, withProfileFailure } from '../../retry/failed-profile-backoff.ts';
import { anObject } from '../../testing/builders.ts';
import { CREATE_PROFILE, DELETE_PROFILE, DELETE_ROLE, describeObstacle } from '../../testing/mutations.ts';
import type { TestServices } from '../../testing/pass-state.ts';
import { aSimulatedProfile, awsWith, passStateFor, awsAsWanted, newServices } from '../../testing/pass-state.ts';
import { failureBackoffExpired, refusalExpired } from './backoff-checks.ts';
import type { PassState } from '../pass-state.ts';

describe('refusalExpired', () => {
  const refused = newReason('Refused', { detail: 'no' });
  const passAfterRefusal = (generation = 1): PassState => {
    const pass = passStateFor(awsAsWanted(), anObject({ metadata: { generation } }));
    const mutation = mutationKey(CREATE_PROFILE, undefined);
    pass.retry.update((state) =>
      withRefusal(state, { mutation, reason: refused, generation: 1, notBefore: 60_000 }, 0),
    );
    return pass;
  };

  it('stops a refused mutation with the reason of the refusal until its backoff is over', async () => {
    const testServices = newServices();
    const check = refusalExpired(testServices);
    expect(await check(CREATE_PROFILE, passAfterRefusal())).to.deep.equal({ kind: 'stop', reason: refused });
    await testServices.clock.advance(60_000);
    expect(await check(CREATE_PROFILE, passAfterRefusal())).to.equal(undefined);
  });

  it('sends a refused mutation again after a change of the spec', async () => {
    expect(await refusalExpired(newServices())(CREATE_PROFILE, passAfterRefusal(2))).to.equal(undefined);
  });

  it('holds back no other mutation', async () => {
    expect(await refusalExpired(newServices())(DELETE_ROLE, passAfterRefusal())).to.equal(undefined);
  });
});

describe('failureBackoffExpired', () => {
  let testServices: TestServices;
  beforeEach(() => (testServices = newServices()));
  const failedPass = (status: string): PassState => {
    const pass = passStateFor(awsWith(aSimulatedProfile({ status })));
    pass.retry.update((state) => withProfileFailure(state, 1, 0));
    return pass;
  };
  const obstacleTo = async (mutation: Mutation, pass: PassState): Promise<string> =>
    describeObstacle(await failureBackoffExpired(testServices)(mutation, pass));

  type Row = readonly [
    situation: string,
    status: string,
    because: Extract<Mutation, { kind: 'deleteProfile' }>['because'],
    first: string,
  ];
  const rows: readonly Row[] = [
    [
      'a profile that EKS failed to create, in order to create it again',
      'CREATE_FAILED',
      'failed',
      'stop: CreateFailed',
    ],
    ['a profile that EKS failed to create, and that is unwanted', 'CREATE_FAILED', 'unwanted', 'go'],
    ['a profile that EKS failed to create, and that differs from the spec', 'CREATE_FAILED', 'different', 'go'],
    ['a profile that EKS failed to delete, and that is unwanted', 'DELETE_FAILED', 'unwanted', 'stop: DeleteFailed'],
    ['a profile that EKS failed to delete, and that is wanted', 'DELETE_FAILED', 'failed', 'stop: DeleteFailed'],
    ['a profile that is ACTIVE', 'ACTIVE', 'unwanted', 'go'],
  ];
  for (const [situation, status, because, first] of rows) {
    it(`returns "${first}" for the deletion of ${situation}`, async () => {
      const pass = failedPass(status);
      expect(await obstacleTo({ ...DELETE_PROFILE, because }, pass)).to.equal(first);
      await testServices.clock.advance(10_000);
      expect(await obstacleTo({ ...DELETE_PROFILE, because }, pass), 'ten seconds later').to.equal('go');
    });
  }

  it('waits longer after each retry', async () => {
    const pass = passStateFor(awsWith(aSimulatedProfile({ status: 'CREATE_FAILED' })));
    pass.retry.update(() => withProfileFailure(withAttempt(withAttempt({}, 1), 1), 1, 0));
    const again: Mutation = { ...DELETE_PROFILE, because: 'failed' };
    await testServices.clock.advance(39_999);
    expect(await obstacleTo(again, pass)).to.equal('stop: CreateFailed');
    await testServices.clock.advance(1);
    expect(await obstacleTo(again, pass)).to.equal('go');
  });

  it('reports the health issues of the profile', async () => {
    const issue = { code: 'PodExecutionRoleAlreadyInUse', message: 'a node group uses it', resourceIds: ['pods'] };
    const failed = failedPass('CREATE_FAILED');
    const profiles = failed.observed.profiles.map(({ name, found }) => ({
      name,
      found: found && { ...found, health: [issue] },
    }));
    const pass = { ...failed, observed: { ...failed.observed, profiles } };
    const obstacle = await failureBackoffExpired(testServices)({ ...DELETE_PROFILE, because: 'failed' }, pass);
    expect(obstacle?.kind === 'stop' && messageOf(obstacle.reason)).to.include(
      'PodExecutionRoleAlreadyInUse: a node group uses it (resources: pods)',
    );
  });
});
