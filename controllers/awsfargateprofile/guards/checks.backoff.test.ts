import { expect } from 'chai';
import type { Mutation } from '../model/change.ts';
import { withProfileFailure } from '../retry-state.ts';
import { DELETE_PROFILE, describeObstacle } from '../testing/mutations.ts';
import { aSimulatedProfile, awsWith, newServices, reconcileStateFor } from '../testing/reconcile-state.ts';
import { failureBackoffExpired } from './checks.ts';

type Because = Extract<Mutation, { kind: 'deleteProfile' }>['because'];

describe('failureBackoffExpired', () => {
  const rows: readonly (readonly [situation: string, status: string, Because, first: string])[] = [
    ['a profile that EKS failed to create', 'CREATE_FAILED', 'failed', 'stop: CreateFailed'],
    ['the same, unwanted', 'CREATE_FAILED', 'unwanted', 'go'],
    ['the same, different from the spec', 'CREATE_FAILED', 'different', 'go'],
    ['a profile that EKS failed to delete, unwanted', 'DELETE_FAILED', 'unwanted', 'stop: DeleteFailed'],
    ['the same, wanted', 'DELETE_FAILED', 'failed', 'stop: DeleteFailed'],
    ['a profile that is ACTIVE', 'ACTIVE', 'unwanted', 'go'],
  ];
  for (const [situation, status, because, first] of rows)
    it(`returns "${first}" for the deletion of ${situation}`, async () => {
      const services = newServices();
      const reconcile = reconcileStateFor(awsWith(aSimulatedProfile({ status })));
      reconcile.retry.update((state) => withProfileFailure(state, 1, 0));
      const obstacle = async (): Promise<string> =>
        describeObstacle(await failureBackoffExpired(services)({ ...DELETE_PROFILE, because }, reconcile));
      expect(await obstacle()).to.equal(first);
      await services.clock.advance(9_999);
      expect(await obstacle()).to.equal(first);
      await services.clock.advance(1);
      expect(await obstacle(), 'ten seconds later').to.equal('go');
    });
});
