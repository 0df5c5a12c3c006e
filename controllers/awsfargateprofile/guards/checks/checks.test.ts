import { expect } from 'chai';
import type { ServedSchemaState } from '../../../shared/crd/served-schema.ts';
import type { Mutation } from '../../model/mutation.ts';
import { aDeletedObject, aFailure } from '../../testing/builders.ts';
import {
  CONSTRUCTIVE,
  CREATE_PROFILE,
  DELETE_PROFILE,
  DELETE_ROLE,
  DESTRUCTIVE,
  STRIP_ROLE,
  describeMutationKind,
  describeObstacle,
} from '../../testing/mutations.ts';
import { passStateFor, awsAsWanted, newServices, roleUsers } from '../../testing/pass-state.ts';
import { leaseValid, roleUnused } from './checks.ts';
import { noLiveBlocker, schemaIsOurs } from './live-checks.ts';
import type { PassState } from '../pass-state.ts';

describe('leaseValid', () => {
  for (const [timeLeft, expected] of [
    [10_000, 'go'],
    [1, 'go'],
    [0, 'stop: NotNow'],
    [-3_000, 'stop: NotNow'],
  ] as const) {
    it(`returns "${expected}" with ${timeLeft} ms left`, async () => {
      const check = leaseValid({ mutationTimeLeft: () => timeLeft });
      for (const mutation of [CREATE_PROFILE, DELETE_ROLE]) {
        expect(describeObstacle(await check(mutation, passStateFor(awsAsWanted())))).to.equal(expected);
      }
    });
  }
});

describe('noLiveBlocker', () => {
  const paused = newServices({
    live: { findBlocker: async () => 'the object is paused', readRoleUsers: async () => roleUsers() },
  });

  for (const mutation of DESTRUCTIVE) {
    it(`asks the API server before ${describeMutationKind(mutation)}`, async () => {
      expect(describeObstacle(await noLiveBlocker(paused)(mutation, passStateFor(awsAsWanted())))).to.equal(
        'stop: NotNow',
      );
      expect(await noLiveBlocker(newServices())(mutation, passStateFor(awsAsWanted()))).to.equal(undefined);
    });
  }

  it('asks the API server nothing before a mutation that deletes nothing', async () => {
    for (const mutation of CONSTRUCTIVE) {
      expect(await noLiveBlocker(paused)(mutation, passStateFor(awsAsWanted())), mutation.kind).to.equal(undefined);
    }
  });
});

describe('schemaIsOurs', () => {
  const obstacleTo = async (mutation: Mutation, state: ServedSchemaState): Promise<string> =>
    describeObstacle(
      await schemaIsOurs(newServices({ schema: { check: async () => state } }))(mutation, passStateFor(awsAsWanted())),
    );
  const FOREIGN = { kind: 'foreign', provider: 'infrastructure-aws', missing: ['spec.deletionPolicy'] } as const;

  for (const mutation of DESTRUCTIVE) {
    it(`holds ${describeMutationKind(mutation)} back while the CRD is foreign or unreadable, or Cluster API Provider AWS serves the kind`, async () => {
      expect(await obstacleTo(mutation, FOREIGN)).to.equal('stop: ForeignSchema');
      expect(await obstacleTo(mutation, { kind: 'unreadable', reason: 'forbidden' })).to.equal('stop: WaitingForAPI');
      const capaServes = { kind: 'capaServes', webhook: 'default.example', isForeign: false } as const;
      expect(await obstacleTo(mutation, capaServes)).to.equal('stop: CAPAServesProfiles');
      expect(await obstacleTo(mutation, { kind: 'ours' })).to.equal('go');
    });
  }

  for (const mutation of CONSTRUCTIVE) {
    it(`does not compare the schema before ${describeMutationKind(mutation)}, because the pass did so at its start`, async () => {
      const check = (): Promise<ServedSchemaState> => Promise.reject(new Error('the schema was compared'));
      expect(await schemaIsOurs(newServices({ schema: { check } }))(mutation, passStateFor(awsAsWanted()))).to.equal(
        undefined,
      );
    });
  }
});

describe('roleUnused', () => {
  const shared = newServices({
    live: { findBlocker: async () => undefined, readRoleUsers: async () => roleUsers('team-a/other') },
  });

  for (const mutation of [DELETE_ROLE, STRIP_ROLE]) {
    it(`protects a role that another object uses from ${describeMutationKind(mutation)}`, async () => {
      const pass = (): PassState => passStateFor(awsAsWanted(), aDeletedObject());
      expect(describeObstacle(await roleUnused(shared)(mutation, pass()))).to.equal(
        'keep for AWSFargateProfile team-a/other',
      );
      expect(await roleUnused(newServices())(mutation, pass())).to.equal(undefined);
    });
  }

  for (const [failure, expected] of [
    [{ code: 'AccessDeniedException', statusCode: 403 }, 'stop: AccessDenied'],
    [{ code: 'NotDispatched', message: 'the lease runs out' }, 'stop: NotNow'],
  ] as const) {
    it(`keeps a role while its users are unknown: "${expected}" after ${failure.code}`, async () => {
      const pass = passStateFor(awsAsWanted(), aDeletedObject());
      pass.session.onCall = (operation) =>
        operation === 'ListFargateProfiles' ? aFailure({ operation, ...failure }) : undefined;
      expect(describeObstacle(await roleUnused(newServices())(DELETE_ROLE, pass))).to.equal(expected);
    });
  }

  it('asks the API server once per pass and role', async () => {
    const requestedRoles: string[] = [];
    const testServices = newServices({
      live: {
        findBlocker: async () => undefined,
        readRoleUsers: async (_object, role) => {
          requestedRoles.push(role.name);
          return roleUsers();
        },
      },
    });
    const check = roleUnused(testServices);
    for (let count = 1; count <= 2; count++) {
      const pass = passStateFor(awsAsWanted(), aDeletedObject());
      for (const mutation of [STRIP_ROLE, DELETE_ROLE]) expect(await check(mutation, pass)).to.equal(undefined);
      expect(requestedRoles).to.have.length(count);
    }
  });

  it('asks the API server nothing before a mutation that removes no role', async () => {
    for (const mutation of [...CONSTRUCTIVE, DELETE_PROFILE]) {
      expect(await roleUnused(shared)(mutation, passStateFor(awsAsWanted())), mutation.kind).to.equal(undefined);
    }
  });
});
