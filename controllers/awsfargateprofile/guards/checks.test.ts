import { expect } from 'chai';
import type { ServedSchemaState } from '../../shared/served-schema.ts';
import type { Mutation } from '../model/mutation.ts';
import { messageOf, newReason } from '../reasons/reasons.ts';
import { mutationKey, withAttempt, withProfileFailure, withRefusal } from '../retry/retry-state.ts';
import { ROLE, aDeletedObject, anObject } from '../testing/builders.ts';
import {
  CONSTRUCTIVE,
  CREATE_PROFILE,
  DELETE_PROFILE,
  DELETE_ROLE,
  DESTRUCTIVE,
  STRIP_ROLE,
  describeMutationKind,
  describeObstacle,
} from '../testing/mutations.ts';
import type { TestServices } from '../testing/pass-state.ts';
import {
  aSimulatedProfile,
  awsWith,
  passStateFor,
  awsAsWanted,
  newServices,
  roleUsers,
} from '../testing/pass-state.ts';
import { failureBackoffExpired, leaseValid, notPaused, refusalExpired, roleUnused, schemaIsOurs } from './checks.ts';
import type { PassState } from './pass-state.ts';

describe('refusalExpired', () => {
  const refused = newReason('AccessDenied', { detail: 'no' });
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
    const pass = failedPass('CREATE_FAILED');
    const issue = { code: 'PodExecutionRoleAlreadyInUse', message: 'a node group uses it', resourceIds: ['pods'] };
    pass.observed = {
      ...pass.observed,
      profiles: pass.observed.profiles.map(({ name, found }) => ({
        name,
        found: found && { ...found, health: [issue] },
      })),
    };
    const obstacle = await failureBackoffExpired(testServices)({ ...DELETE_PROFILE, because: 'failed' }, pass);
    expect(obstacle?.kind === 'stop' && messageOf(obstacle.reason)).to.include(
      'PodExecutionRoleAlreadyInUse: a node group uses it (resources: pods)',
    );
  });
});

describe('leaseValid', () => {
  for (const [timeLeft, expected] of [
    [10_000, 'go'],
    [1, 'go'],
    [0, 'quit: the lease may have run out'],
    [-3_000, 'quit: the lease may have run out'],
  ] as const) {
    it(`returns "${expected}" with ${timeLeft} ms left`, async () => {
      const check = leaseValid({ mutationTimeLeft: () => timeLeft });
      for (const mutation of [CREATE_PROFILE, DELETE_ROLE]) {
        expect(describeObstacle(await check(mutation, passStateFor(awsAsWanted())))).to.equal(expected);
      }
    });
  }
});

describe('notPaused', () => {
  const paused = newServices({
    live: { findBlocker: async () => 'the object is paused', readRoleUsers: async () => roleUsers() },
  });

  for (const mutation of DESTRUCTIVE) {
    it(`asks the API server before ${describeMutationKind(mutation)}`, async () => {
      expect(describeObstacle(await notPaused(paused)(mutation, passStateFor(awsAsWanted())))).to.equal(
        'quit: the object is paused',
      );
      expect(await notPaused(newServices())(mutation, passStateFor(awsAsWanted()))).to.equal(undefined);
    });
  }

  it('asks the API server nothing before a mutation that deletes nothing', async () => {
    for (const mutation of CONSTRUCTIVE) {
      expect(await notPaused(paused)(mutation, passStateFor(awsAsWanted())), mutation.kind).to.equal(undefined);
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
        `role ${ROLE} in use by AWSFargateProfile team-a/other`,
      );
      expect(await roleUnused(newServices())(mutation, pass())).to.equal(undefined);
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
