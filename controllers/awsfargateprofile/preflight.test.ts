import { expect } from 'chai';
import { FINALIZER } from '../../api/v1beta2/index.ts';
import { KubeError } from '../../pkg/kube/errors.ts';
import type { ServedVerdict } from '../served-schema.ts';
import { rememberAttempt, rememberRefusal, whatOf } from './memory.ts';
import type { Mutation } from './model.ts';
import type { Flight, Guard, GuardServices, Verdict } from './preflight.ts';
import { guards, leads, marked, pace, preflight, recorded, roleUnused, unpaused, readAsWritten } from './preflight.ts';
import { messageOf, why } from './reasons.ts';
import { ROLE, aDeletedObject, anObject } from './testing/builders.ts';
import type { TestServices } from './testing/flight.ts';
import { LANE, aSimulatedProfile, awsWith, flightIn, full, services } from './testing/flight.ts';
import {
  CREATE_PROFILE,
  DELETE_PROFILE,
  DELETE_ROLE,
  STRIP_ROLE,
  CONSTRUCTIVE,
  DESTRUCTIVE,
  nameOf,
} from './testing/mutations.ts';
import { verdictWord } from './testing/words.ts';

describe('preflight', () => {
  it('asks in order and stops at the first objection', async () => {
    const asked: string[] = [];
    const guard =
      (name: string, verdict: Verdict): Guard =>
      async () => {
        asked.push(name);
        return verdict;
      };
    const all = [
      guard('first', { kind: 'go' }),
      guard('second', { kind: 'keep', role: ROLE, by: 'x' }),
      guard('third', { kind: 'go' }),
    ];
    expect(verdictWord(await preflight(all, DELETE_ROLE, flightIn(full())))).to.equal(`keep ${ROLE}: x`);
    expect(asked).to.deep.equal(['first', 'second']);
  });

  describe('where the API server', () => {
    const throwing = (error: unknown): readonly Guard[] => [
      async () => {
        throw error;
      },
    ];
    const forbidden = new KubeError('listing awsfargateprofiles: forbidden', { status: 403, reason: 'Forbidden' });
    const silent = new KubeError('listing awsfargateprofiles: no answer', { status: 0, reason: 'NoAnswer' });

    it('refuses what a guard needs, lets nothing through, and says so in its words', async () => {
      const verdict = await preflight(throwing(forbidden), DELETE_ROLE, flightIn(full()));
      expect(verdictWord(verdict)).to.equal('stop: APIServerRefused');
      expect(verdict.kind === 'stop' && messageOf(verdict.why)).to.contain(forbidden.message);
    });

    it('gives no answer, or a guard has a mistake, drops the pass', async () => {
      for (const error of [silent, new TypeError('x is not a function')]) {
        const thrown = await preflight(throwing(error), DELETE_ROLE, flightIn(full())).catch((each: unknown) => each);
        expect(thrown).to.equal(error);
      }
    });
  });

  it('lets everything go ahead where nothing speaks against it', async () => {
    for (const mutation of [...CONSTRUCTIVE, ...DESTRUCTIVE]) {
      const verdict = await preflight(guards(services()), mutation, flightIn(full()));
      expect(verdictWord(verdict), mutation.kind).to.equal('go');
    }
  });

  describe('asks each of the safety rules: alone against all others it holds a deletion back', () => {
    const objecting = (objection: string | undefined, user?: string): Partial<GuardServices> => ({
      live: { objectionTo: async () => objection, otherUserOf: async () => user },
    });
    const foreign: ServedVerdict = {
      kind: 'foreign',
      provider: 'infrastructure-aws',
      missing: ['spec.deletionPolicy'],
    };

    for (const [rule, over, expected] of [
      ['leads', { mutationBudget: () => 0 }, 'quit: the lease may have run out'],
      ['unpaused', objecting('the object is paused'), 'quit: the object is paused'],
      ['readAsWritten', { schema: { look: async () => foreign } }, 'stop: ForeignSchema'],
      ['roleUnused', objecting(undefined, 'team-a/api'), `keep ${ROLE}: AWSFargateProfile team-a/api`],
      ['marked', { mark: async () => undefined }, 'conflict'],
      ['recorded', { record: async () => undefined }, 'conflict'],
    ] satisfies readonly (readonly [string, Partial<GuardServices>, string])[])
      it(rule, async () => {
        const flight = flightIn(full(), aDeletedObject());
        expect(verdictWord(await preflight(guards(services(over)), DELETE_ROLE, flight))).to.equal(expected);
      });

    it('pace', async () => {
      const flight = flightIn(full(), aDeletedObject());
      const generation = flight.object.metadata.generation ?? 0;
      const refused = { what: whatOf(DELETE_ROLE, undefined), why: why('AccessDenied', { words: 'no' }) };
      flight.memory = rememberRefusal({}, { ...refused, generation, notBefore: 60_000 });
      expect(verdictWord(await preflight(guards(services()), DELETE_ROLE, flight))).to.equal('stop: AccessDenied');
    });

    it('turn', async () => {
      const asking = services();
      asking.turns.busy(LANE, 'team-a_api', 'being deleted', false);
      const flight = flightIn(full(), aDeletedObject());
      expect(verdictWord(await preflight(guards(asking), DELETE_PROFILE, flight))).to.equal('stop: WaitingForSibling');
    });
  });

  it('records only what has its turn: who waits for one writes nothing', async () => {
    const written: string[] = [];
    const asking = services({
      record: async ({ kind }, { object }) => {
        written.push(kind);
        return object;
      },
    });
    asking.turns.busy(LANE, 'team-a_api', 'being created', false);
    const verdict = await preflight(guards(asking), CREATE_PROFILE, flightIn(full()));
    expect(verdictWord(verdict)).to.equal('stop: WaitingForSibling');
    expect(written).to.deep.equal([]);
  });
});

describe('the guard pace', () => {
  let asking: TestServices;
  beforeEach(() => (asking = services()));
  const verdictOn = async (mutation: Mutation, flight: Flight): Promise<string> =>
    verdictWord(await pace(asking)(mutation, flight));

  describe('after a refusal', () => {
    const refused = why('AccessDenied', { words: 'no' });
    const flight = (generation = 1): Flight => ({
      ...flightIn(full(), anObject({ metadata: { generation } })),
      memory: rememberRefusal(
        {},
        { what: whatOf(CREATE_PROFILE, undefined), why: refused, generation: 1, notBefore: 60_000 },
      ),
    });

    it('holds the change back until its time, saying what it said', async () => {
      expect(await pace(asking)(CREATE_PROFILE, flight())).to.deep.equal({ kind: 'stop', why: refused });
      await asking.clock.advance(60_000);
      expect(await verdictOn(CREATE_PROFILE, flight())).to.equal('go');
    });

    it('holds back nothing after a change of the spec', async () => {
      expect(await verdictOn(CREATE_PROFILE, flight(2))).to.equal('go');
    });

    it('holds back no other change', async () => {
      expect(await verdictOn(DELETE_ROLE, flight())).to.equal('go');
    });
  });

  type Row = readonly [
    situation: string,
    status: string,
    because: Extract<Mutation, { kind: 'deleteProfile' }>['because'],
    first: string,
  ];
  const rows: readonly Row[] = [
    ['a profile that could not be created, to be made anew', 'CREATE_FAILED', 'failed', 'stop: CreateFailed'],
    ['a profile that could not be created, and is unwanted', 'CREATE_FAILED', 'unwanted', 'go'],
    ['a profile that could not be created, and differs from the spec', 'CREATE_FAILED', 'different', 'go'],
    ['a profile that could not be deleted, and is unwanted', 'DELETE_FAILED', 'unwanted', 'stop: DeleteFailed'],
    ['a profile that could not be deleted, and is wanted', 'DELETE_FAILED', 'failed', 'stop: DeleteFailed'],
    ['a profile that is ACTIVE', 'ACTIVE', 'unwanted', 'go'],
  ];
  for (const [situation, status, because, first] of rows) {
    it(`says of the deletion of ${situation}: ${first}`, async () => {
      const flight = flightIn(awsWith(aSimulatedProfile({ status })));
      expect(await verdictOn({ ...DELETE_PROFILE, because }, flight)).to.equal(first);
      await asking.clock.advance(10_000);
      expect(await verdictOn({ ...DELETE_PROFILE, because }, flight), 'ten seconds later').to.equal('go');
    });
  }

  it('waits longer each time', async () => {
    const flight = flightIn(awsWith(aSimulatedProfile({ status: 'CREATE_FAILED' })));
    flight.memory = rememberAttempt(rememberAttempt({}, 1), 1);
    const again: Mutation = { ...DELETE_PROFILE, because: 'failed' };
    expect(await verdictOn(again, flight)).to.equal('stop: CreateFailed');
    await asking.clock.advance(39_999);
    expect(await verdictOn(again, flight)).to.equal('stop: CreateFailed');
    await asking.clock.advance(1);
    expect(await verdictOn(again, flight)).to.equal('go');
  });

  it('says what EKS says is wrong', async () => {
    const flight = flightIn(awsWith(aSimulatedProfile({ status: 'CREATE_FAILED' })));
    const issue = { code: 'PodExecutionRoleAlreadyInUse', message: 'a node group uses it', resourceIds: ['pods'] };
    flight.observed = {
      ...flight.observed,
      profiles: flight.observed.profiles.map(({ name, found }) => ({
        name,
        found: found && { ...found, health: [issue] },
      })),
    };
    const verdict = await pace(asking)({ ...DELETE_PROFILE, because: 'failed' }, flight);
    expect(verdict.kind === 'stop' && messageOf(verdict.why)).to.include(
      'PodExecutionRoleAlreadyInUse: a node group uses it (pods)',
    );
  });
});

describe('the guard leads', () => {
  for (const [budget, verdict] of [
    [10_000, 'go'],
    [1, 'go'],
    [0, 'quit: the lease may have run out'],
    [-3_000, 'quit: the lease may have run out'],
  ] as const) {
    it(`says with ${budget} ms left: ${verdict}`, async () => {
      for (const mutation of [CREATE_PROFILE, DELETE_ROLE]) {
        expect(verdictWord(await leads({ mutationBudget: () => budget })(mutation, flightIn(full())))).to.equal(
          verdict,
        );
      }
    });
  }
});

describe('the guard unpaused', () => {
  const objecting = services({
    live: { objectionTo: async () => 'the object is paused', otherUserOf: async () => undefined },
  });

  for (const mutation of DESTRUCTIVE) {
    it(`asks live before ${nameOf(mutation)}`, async () => {
      expect(verdictWord(await unpaused(objecting)(mutation, flightIn(full())))).to.equal('quit: the object is paused');
      expect(verdictWord(await unpaused(services())(mutation, flightIn(full())))).to.equal('go');
    });
  }

  it('does not ask where nothing is taken away for good', async () => {
    for (const mutation of CONSTRUCTIVE) {
      expect(verdictWord(await unpaused(objecting)(mutation, flightIn(full()))), mutation.kind).to.equal('go');
    }
  });
});

describe('the guard readAsWritten', () => {
  const verdictOn = async (mutation: Mutation, verdict: ServedVerdict): Promise<string> =>
    verdictWord(await readAsWritten(services({ schema: { look: async () => verdict } }))(mutation, flightIn(full())));
  const FOREIGN = { kind: 'foreign', provider: 'infrastructure-aws', missing: ['spec.deletionPolicy'] } as const;

  for (const mutation of DESTRUCTIVE) {
    it(`stops ${nameOf(mutation)} while the schema is somebody else's, or may be`, async () => {
      expect(await verdictOn(mutation, FOREIGN)).to.equal('stop: ForeignSchema');
      expect(await verdictOn(mutation, { kind: 'unreadable', why: 'forbidden' })).to.equal('stop: WaitingForAPI');
      expect(await verdictOn(mutation, { kind: 'ours' })).to.equal('go');
    });
  }

  for (const mutation of CONSTRUCTIVE) {
    it(`asks nothing for ${nameOf(mutation)}: the pass has begun with that question`, async () => {
      const look = (): Promise<ServedVerdict> => Promise.reject(new Error('asked'));
      expect(verdictWord(await readAsWritten(services({ schema: { look } }))(mutation, flightIn(full())))).to.equal(
        'go',
      );
    });
  }
});

describe('the guard roleUnused', () => {
  const shared = services({
    live: { objectionTo: async () => undefined, otherUserOf: async () => 'team-a/other' },
  });

  for (const mutation of [DELETE_ROLE, STRIP_ROLE]) {
    it(`keeps a role that another object uses from ${nameOf(mutation)}`, async () => {
      const flight = flightIn(full(), aDeletedObject());
      expect(verdictWord(await roleUnused(shared)(mutation, flight))).to.equal(
        `keep ${ROLE}: AWSFargateProfile team-a/other`,
      );
      expect(verdictWord(await roleUnused(services())(mutation, flight))).to.equal('go');
    });
  }

  it('asks once in a pass: until it has ended nobody else decides about the role', async () => {
    const asked: string[] = [];
    const asking = services({
      live: {
        objectionTo: async () => undefined,
        otherUserOf: async (_object, role) => {
          asked.push(role.name);
          return undefined;
        },
      },
    });
    const flight = flightIn(full(), aDeletedObject());
    for (let pass = 1; pass <= 2; pass++) {
      const guard = roleUnused(asking);
      for (const mutation of [STRIP_ROLE, DELETE_ROLE]) {
        expect(verdictWord(await guard(mutation, flight))).to.equal('go');
      }
      expect(asked).to.have.length(pass);
    }
  });

  it('has nothing to say where no role is to go', async () => {
    for (const mutation of [...CONSTRUCTIVE, DELETE_PROFILE]) {
      expect(verdictWord(await roleUnused(shared)(mutation, flightIn(full()))), mutation.kind).to.equal('go');
    }
  });
});

describe('the guard marked', () => {
  const marking = (written: 'written' | 'refused') => {
    const marks: string[] = [];
    const guard = marked({
      mark: async (object) => {
        marks.push(object.metadata.name);
        return written === 'written' ? aDeletedObject({ metadata: { resourceVersion: '101' } }) : undefined;
      },
    });
    return { guard, marks };
  };

  for (const mutation of DESTRUCTIVE) {
    it(`marks an object that is being deleted before ${nameOf(mutation)}`, async () => {
      const { guard, marks } = marking('written');
      const flight = flightIn(full(), aDeletedObject());
      expect(verdictWord(await guard(mutation, flight))).to.equal('go');
      expect(marks).to.deep.equal(['web']);
      expect(flight.object.metadata.resourceVersion, 'goes on with what was written').to.equal('101');
    });
  }

  it('drops the pass when somebody else wrote first', async () => {
    const { guard } = marking('refused');
    expect(verdictWord(await guard(DELETE_PROFILE, flightIn(full(), aDeletedObject())))).to.equal('conflict');
  });

  it('marks no living object, whose profile is made anew', async () => {
    const { guard, marks } = marking('refused');
    expect(verdictWord(await guard(DELETE_PROFILE, flightIn(full())))).to.equal('go');
    expect(marks).to.deep.equal([]);
  });
});

describe('the guard recorded', () => {
  const everything = [...CONSTRUCTIVE, ...DESTRUCTIVE];

  it('records before every change, and goes on with what was written', async () => {
    for (const mutation of everything) {
      const flight = flightIn(full());
      const guard = recorded({ record: async () => anObject({ metadata: { resourceVersion: '101' } }) });
      expect(verdictWord(await guard(mutation, flight)), mutation.kind).to.equal('go');
      expect(flight.object.metadata.resourceVersion).to.equal('101');
    }
  });

  it('drops the pass when somebody else wrote first', async () => {
    const guard = recorded({ record: async () => undefined });
    expect(verdictWord(await guard(CREATE_PROFILE, flightIn(full())))).to.equal('conflict');
  });

  it('changes nothing for an object without our finalizer', async () => {
    const bare = anObject({ metadata: { finalizers: [FINALIZER.replace('aws', 'xyz')] } });
    const guard = recorded({ record: async () => expect.fail('nothing is to be recorded') });
    for (const mutation of everything) {
      expect(verdictWord(await guard(mutation, flightIn(full(), bare)))).to.equal('quit: the finalizer is gone');
    }
  });
});
