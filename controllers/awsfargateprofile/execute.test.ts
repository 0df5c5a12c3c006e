import { expect } from 'chai';
import { fieldAt, textAt } from 'controller-runtime/json';
import { ProfileName, RoleName } from '../../api/names.ts';
import { type AWSFargateProfile, RECORD_ANNOTATION } from '../../api/v1beta2/index.ts';
import type { AwsFailure } from '../../pkg/cloud/index.ts';
import { ADDED_TAG } from '../../pkg/fargate/tags/tag-keys.ts';
import { plan } from './plan/plan.ts';
import { execute } from './execute.ts';
import type { ReconcileState } from './guards/guards.ts';
import { newGuards } from './guards/guard-order.ts';
import type { ClusterQueueWait } from './cluster-queue.ts';
import { type Change, type Mutation, type Plan, change, optional, ifAllMade } from './model/change.ts';
import { type Execution, reasonOf } from './model/result.ts';
import { newReason } from './reasons/reasons.ts';
import { withWait } from './retry-state.ts';
import {
  FULL_RECORD,
  NOW,
  POD_EXECUTION_POLICY,
  PROFILE,
  ROLE,
  ROLE_ARN,
  ROLE_TAGS,
  aDeletedObject,
  aFailure,
  aProfile,
  anObject,
} from './testing/builders.ts';
import { CREATE_PROFILE, DELETE_PROFILE, DELETE_ROLE, SET_TRUST } from './testing/mutations.ts';
import {
  type ServiceOverrides,
  type TestServices,
  NO_ROLE_USERS,
  QUEUE,
  aSimulatedProfile,
  aSimulatedRole,
  awsAsDesired,
  awsWith,
  newServices,
  reconcileStateFor,
  roleUsers,
  writerThat,
} from './testing/reconcile-state.ts';
import type { SimulatedAws } from './testing/simulated-aws.ts';

/** Returns a writer that calls `write` for each patch of the record, with the record as text. */
const notingWriter = (
  write: (object: AWSFargateProfile, text: string) => Promise<AWSFargateProfile | undefined>,
): TestServices['profileWriter'] => ({
  ...writerThat(async (object) => object),
  patchMetadata: (object, patch) =>
    write(object, textAt(fieldAt(fieldAt(patch, 'metadata'), 'annotations'), RECORD_ANNOTATION) ?? ''),
});

/** Returns a plan with these changes and with nothing to report. */
const planOf = (...changes: readonly Change[]): Plan => ({
  changes,
  end: 'inSync',
  profile: 'works',
  role: 'works',
  leftovers: [],
  notices: [],
  kept: [],
  advice: [],
  profiles: [],
  shown: undefined,
  isRoleManaged: false,
  refusedReads: [],
});

const DENIED = { code: 'AccessDeniedException', statusCode: 403 };

describe('execute', () => {
  let services: TestServices;
  beforeEach(() => (services = newServices()));

  /** Executes `planned`, by default the plan for the desired and the observed state in `reconcile`. */
  async function execution(reconcile: ReconcileState, over: ServiceOverrides = {}, planned?: Plan): Promise<Execution> {
    const result: Execution = { end: 'inSync', steps: [], notices: [], kept: [] };
    const guards = newGuards({ ...services, ...over, clock: services.clock });
    const given = planned ?? plan(reconcile.desired, reconcile.observed);
    await execute(Object.assign(reconcile, { plan: given, execution: result }), { ...services, guards });
    return result;
  }
  const describeEnd = (result: Execution): string => {
    const reason = reasonOf(result);
    if (reason === undefined) return 'in order';
    return reason.name === 'NotNow' || reason.name === 'ReadAgain'
      ? `${reason.name}: ${reason.facts.because}`
      : reason.name;
  };
  const run = async (reconcile: ReconcileState, over: ServiceOverrides = {}, planned?: Plan) => {
    const result = await execution(reconcile, over, planned);
    const did = result.steps.map(({ mutation, outcome }) => `${mutation.kind} ${outcome.kind}`);
    return { end: describeEnd(result), did };
  };

  const elsewhere = { namespace: 'team-b', name: 'other' };

  it('creates no role that a reconcile of another namespace removes', async () => {
    services.claims.tryClaim(DELETE_ROLE, reconcileStateFor(awsAsDesired(), aDeletedObject({ metadata: elsewhere })));
    expect(await run(reconcileStateFor(awsWith()))).to.deep.equal({
      end: 'NotNow: another object uses or changes the same resource',
      did: [],
    });
  });

  it('lets no reconcile of another namespace remove a role that it is about to create', async () => {
    const removed: boolean[] = [];
    const profileWriter = notingWriter(async (object) => {
      const remover = reconcileStateFor(awsAsDesired(), aDeletedObject({ metadata: elsewhere }));
      removed.push(services.claims.tryClaim(DELETE_ROLE, remover));
      return object;
    });
    await run(reconcileStateFor(awsWith()), { profileWriter });
    expect(new Set(removed)).to.deep.equal(new Set([false]));
  });

  it('claims a role that it removes before it asks who uses the role', async () => {
    const other = reconcileStateFor(
      awsWith(aSimulatedRole()),
      anObject({ metadata: elsewhere, spec: { roleARN: ROLE_ARN } }),
    );
    const claimed: boolean[] = [];
    const usersOf = async () => {
      claimed.push(services.claims.tryClaim(CREATE_PROFILE, other));
      return roleUsers();
    };
    const asking = { roleUsers: { ...NO_ROLE_USERS, usersOf } };
    await run(reconcileStateFor(awsWith(aSimulatedRole()), aDeletedObject()), asking);
    expect(claimed).to.deep.equal([false]);
  });

  describe('a role that another object uses', () => {
    it('stays whole, and holds neither the deletion of the object nor another role', async () => {
      const other = RoleName.of('former-role');
      const aws = awsWith(aSimulatedRole(), aSimulatedRole({ name: other }));
      const record = { ...FULL_RECORD, roles: [...FULL_RECORD.roles, { name: other }] };
      const usersOf = async ({ name }: { readonly name: string }) =>
        roleUsers(name === ROLE ? 'team-a/other' : undefined);
      const reconcile = reconcileStateFor(aws, aDeletedObject({ record }));
      const { end, kept } = await execution(reconcile, { roleUsers: { ...NO_ROLE_USERS, usersOf } });
      expect(end).to.equal('released');
      expect(kept).to.deep.equal([{ name: ROLE, usedBy: 'AWSFargateProfile team-a/other' }]);
      expect([...aws.roles.keys()]).to.deep.equal([ROLE.toLowerCase()]);
      expect(aws.roles.get(ROLE.toLowerCase())?.attached).to.deep.equal([POD_EXECUTION_POLICY]);
    });

    it('is a conflict if the spec asks for it with another path', async () => {
      const reconcile = reconcileStateFor(awsWith(aSimulatedRole()), anObject({ spec: { rolePath: '/team-a/' } }));
      const usersOf = async () => roleUsers('team-a/other');
      const { end, steps, kept } = await execution(reconcile, { roleUsers: { ...NO_ROLE_USERS, usersOf } });
      expect(end).to.have.property('name', 'RoleSettingsConflict');
      expect([steps, kept]).to.deep.equal([[], []]);
    });
  });

  for (const [what, vanish, first, end] of [
    ['profile', (aws: SimulatedAws) => aws.profiles.clear(), 'deleteProfile gone', 'DeletingProfile'],
    [
      'EKS cluster',
      (aws: SimulatedAws) => void (aws.cluster = 'gone'),
      'deleteProfile clusterGone',
      'ReadAgain: EKS has no such cluster any more',
    ],
  ] as const)
    it(`treats the profile as deleted when the ${what} is gone meanwhile, and then deletes the role`, async () => {
      const aws = awsAsDesired();
      const reconcile = reconcileStateFor(aws, aDeletedObject());
      vanish(aws);
      expect(await run(reconcile)).to.deep.equal({ end, did: [first] });
      expect((await run(reconcileStateFor(aws, aDeletedObject()))).did).to.deep.equal([
        'detachPolicy done',
        'deleteRole done',
      ]);
    });

  describe('the turn in the queue', () => {
    const sibling = anObject({ metadata: { name: 'api', uid: 'uid-of-api' } });
    const turnOfSibling = (): ClusterQueueWait | undefined => {
      const wait = services.clusterQueues.take(QUEUE, sibling, 'team-a_api', 'being created');
      services.clusterQueues.release(QUEUE, sibling);
      return wait;
    };
    const creating = (failure?: Partial<AwsFailure>): ReconcileState => {
      const reconcile = reconcileStateFor(awsWith(aSimulatedRole()));
      if (failure !== undefined) reconcile.session.onCall = () => aFailure(failure);
      return reconcile;
    };

    it('goes to the accepted change', async () => {
      const reconcile = creating();
      await run(reconcile);
      expect(reconcile.retry.state.recovery, 'it is no retry').to.equal(undefined);
      const expected = { kind: 'wait', ahead: PROFILE, doing: 'being created', isForeign: false };
      expect(turnOfSibling()).to.deep.equal(expected);
      await run(reconcileStateFor(awsAsDesired(), aDeletedObject()));
      expect(turnOfSibling()).to.deep.equal({ ...expected, doing: 'being deleted' });
    });

    it('goes to the profile that EKS names in its refusal', async () => {
      const aws = awsWith(aSimulatedRole());
      const reconcile = reconcileStateFor(aws);
      aws.profiles.set('theirs', aSimulatedProfile({ name: 'theirs', tags: {}, status: 'DELETING' }));
      const result = await execution(reconcile);
      expect(result.end).to.deep.nested.include({ name: 'WaitingForSibling', 'facts.doing': 'being deleted' });
      const expected = { kind: 'wait', ahead: 'theirs', doing: 'being deleted', isForeign: true };
      expect(turnOfSibling()).to.deep.equal(expected);
    });

    const conflict = { profileWriter: writerThat(async () => undefined) };
    const broken = { profileWriter: writerThat(() => Promise.reject(new Error('no answer'))) };
    for (const [situation, failure, over, end] of [
      ['EKS refuses the change', { code: 'InvalidParameterException', statusCode: 400 }, {}, 'Refused'],
      ['another client wrote first', undefined, conflict, 'Conflict'],
      ['the write of the record fails', undefined, broken, 'thrown'],
    ] as const)
      it(`ends when ${situation}`, async () => {
        const ended = await run(creating(failure), over).catch(() => ({ end: 'thrown' }));
        expect(ended.end).to.equal(end);
        expect(turnOfSibling()).to.equal(undefined);
      });

    it('names the selector of a profile that EKS refuses', async () => {
      const selectors = [{ namespace: 'Team A' }];
      const reconcile = reconcileStateFor(awsWith(aSimulatedRole()), anObject({ spec: { selectors } }));
      reconcile.session.onCall = () => aFailure({ code: 'InvalidParameterException', statusCode: 400 });
      const { end } = await execution(reconcile);
      expect(end).to.have.nested.property('facts.violation').that.contains('spec.selectors[0].namespace "Team A"');
    });

    it('is not needed for a change that EKS makes at once', async () => {
      services.clusterQueues.saw(QUEUE, 'team-a_api', 'being created', sibling);
      const reconcile = reconcileStateFor(awsWith(aSimulatedProfile(), aSimulatedRole({ attached: [] })));
      expect(await run(reconcile)).to.deep.equal({ end: 'in order', did: ['attachPolicy done'] });
    });

    it('goes to nobody while the EKS cluster is being updated: for 15 s, later for longer, at most five minutes', async () => {
      const [code, statusCode] = ['ResourceInUseException', 409];
      const message = 'Cannot create Fargate Profile because cluster c currently has an update in progress';
      const MINUTES = 60_000;
      for (const [waited, closed] of [
        [0, 15_000],
        [15 * MINUTES, 15_000],
        [60 * MINUTES, 60_000],
        [48 * 60 * MINUTES, 5 * MINUTES],
      ] as const) {
        const reconcile = creating({ code, statusCode, message });
        const since = services.clock.monotonic() - waited;
        reconcile.retry.update(() =>
          withWait({}, newReason('ClusterUpdating', { cluster: 'c', said: 'no', remaining: 0 }), since),
        );
        expect((await run(reconcile)).end).to.equal('ClusterUpdating');
        expect(turnOfSibling(), `after ${waited} ms`).to.deep.equal({
          kind: 'closed',
          remaining: closed,
          because: `${message} (EKS CreateFargateProfile: ${code})`,
        });
        await services.clock.advance(closed);
        expect(turnOfSibling()).to.equal(undefined);
      }
    });
  });

  describe('a contradiction in AWS', () => {
    const contradictions: readonly (readonly [string, () => ReconcileState])[] = [
      [
        'a profile that exists but cannot be read',
        () => {
          const aws = awsWith(aSimulatedRole());
          aws.profiles.set(PROFILE, aSimulatedProfile({ isHidden: true }));
          return reconcileStateFor(aws);
        },
      ],
      [
        'a role that exists but was not found',
        () => {
          const aws = awsWith();
          const reconcile = reconcileStateFor(aws);
          aws.roles.set(ROLE.toLowerCase(), aSimulatedRole());
          return reconcile;
        },
      ],
      [
        'a role that was found but cannot be changed',
        () => {
          const aws = awsWith(aSimulatedRole({ attached: [] }));
          const reconcile = reconcileStateFor(aws);
          aws.roles.clear();
          return reconcile;
        },
      ],
    ];
    for (const [situation, newReconcile] of contradictions)
      it(`is waited for during two minutes, then reported: ${situation}`, async () => {
        expect((await run(newReconcile())).end).to.equal('Propagating');
        const late = newReconcile();
        late.retry.update(() => withWait({}, newReason('Propagating', { detail: '' }), 0));
        await services.clock.advance(120_000);
        expect((await run(late)).end).to.equal('AWSError');
      });

    it('is waited for: a role whose detached policies still prevent its deletion', async () => {
      const reconcile = reconcileStateFor(awsWith(aSimulatedRole()), aDeletedObject());
      const lagging = aFailure({ code: 'DeleteConflict', statusCode: 409, message: 'must detach all policies first.' });
      reconcile.session.onCall = (operation) => (operation === 'DeleteRole' ? lagging : undefined);
      expect((await run(reconcile)).end).to.equal('Propagating');
    });
  });

  it('takes a trust policy that EKS rejects for propagating during two minutes, then for invalid, until the spec changes', async () => {
    const message =
      'Misconfigured PodExecutionRole Trust Policy; Please add the eks-fargate-pods.amazonaws.com Principal';
    const first = reconcileStateFor(awsWith(aSimulatedRole()));
    first.session.onCall = () => aFailure({ code: 'InvalidParameterException', statusCode: 400, message });
    const again = async (generation = 1) => {
      const object = anObject({ metadata: { generation } });
      return describeEnd(await execution({ ...first, object }));
    };
    expect(await again()).to.equal('Propagating');
    await services.clock.advance(119_999);
    expect(await again()).to.equal('Propagating');
    await services.clock.advance(1);
    expect(await again()).to.equal('RoleTrustInvalid');
    expect(await again(2), 'with another spec').to.equal('Propagating');
  });

  for (const [whose, spec, tags, ours] of [
    ['of the controller', {}, ROLE_TAGS, true],
    ['that this reconcile has made', {}, undefined, true],
    ['of another owner', { roleName: ROLE }, {}, false],
    ['that the spec brings', { roleARN: ROLE_ARN }, ROLE_TAGS, false],
  ] as const)
    it(`tells whether a wrong trust policy is one that the controller sets: a role ${whose}`, async () => {
      const message = 'Misconfigured PodExecutionRole Trust Policy';
      const reconcile = reconcileStateFor(
        awsWith(...(tags === undefined ? [] : [aSimulatedRole({ tags })])),
        anObject({ spec }),
      );
      const failure = aFailure({ code: 'InvalidParameterException', statusCode: 400, message });
      reconcile.session.onCall = (operation) => (operation === 'CreateFargateProfile' ? failure : undefined);
      reconcile.retry.update(() => ({ trustRejected: { generation: 1, since: -120_000 } }));
      expect((await execution(reconcile)).end).to.deep.nested.include({ 'facts.name': ROLE, 'facts.ours': ours });
    });

  describe('a failed change', () => {
    const failing = (failure: Partial<AwsFailure>): ReconcileState => {
      const reconcile = reconcileStateFor(awsWith(aSimulatedRole()));
      reconcile.session.onCall = () => aFailure(failure);
      return reconcile;
    };

    it('ends the reconcile with the reason of its failure, and is not sent again before its backoff is over', async () => {
      const reconcile = failing(DENIED);
      expect(await run(reconcile)).to.deep.equal({ end: 'AccessDenied', did: ['createProfile failed'] });
      expect(await run(reconcile)).to.deep.equal({ end: 'AccessDenied', did: [] });
      await services.clock.advance(60_000);
      expect((await run(reconcile)).did).to.deep.equal(['createProfile failed']);
    });

    const failureOf = async (mutation: Mutation, failure: Partial<AwsFailure>): Promise<unknown> => {
      return reasonOf(await execution(failing(failure), {}, planOf(change(mutation))));
    };

    it('names the resource that AWS does not find, unless the change creates it', async () => {
      const gone = { code: 'ResourceNotFoundException', statusCode: 404, message: 'no' };
      const named = await failureOf({ kind: 'tagProfile', name: PROFILE, arn: aProfile().arn, tags: { a: 'b' } }, gone);
      expect(named).to.have.nested.property('facts.missing', `Fargate profile "${PROFILE}"`);
      expect(await failureOf(CREATE_PROFILE, gone)).to.have.property('name', 'AWSError');
      expect(await failureOf(CREATE_PROFILE, gone)).not.to.have.nested.property('facts.missing');
    });

    it('tells whether the object was provisioned, because the API server then refuses some remedies', async () => {
      for (const provisioned of [false, true]) {
        const object = anObject({ status: { initialization: { provisioned } } });
        const reconcile = { ...failing(DENIED), desired: reconcileStateFor(awsWith(), object).desired };
        expect((await execution(reconcile)).end).to.have.nested.property('facts.isSpecFixed', provisioned);
      }
    });

    for (const [what, mutation, tags] of [
      ['set', { kind: 'tagRole', name: ROLE, tags: { team: 'a', [ADDED_TAG]: 'x' } }, ['team']],
      ['set', { kind: 'tagRole', name: ROLE, tags: { [ADDED_TAG]: 'x' } }, [ADDED_TAG]],
      ['remove', { kind: 'untagRole', name: ROLE, keys: ['team', ADDED_TAG] }, ['team']],
    ] as const)
      it(`tells which tags it could not ${what}: ${tags.join()}`, async () => {
        const resource = `IAM role "${ROLE}"`;
        expect(await failureOf(mutation, { ...DENIED, service: 'iam' })).to.have.deep.nested.property('facts.tags', {
          change: what,
          keys: tags,
          resource,
        });
      });

    for (const [subnets, action, code, name] of [
      [[], 'ec2:DescribeSubnets', 'AccessDeniedException', 'SubnetChoiceDenied'],
      [['subnet-0a'], 'ec2:DescribeSubnets', 'AccessDeniedException', 'AccessDenied'],
      [[], 'iam:PassRole', 'AccessDeniedException', 'AccessDenied'],
      [[], 'ec2:DescribeSubnets', 'ServerException', 'AWSUnavailable'],
    ] as const)
      it(`is ${name} when EKS names ${action} with ${code}, and the profile has ${subnets.length} subnets`, async () => {
        const mutation = { ...CREATE_PROFILE, profile: { ...CREATE_PROFILE.profile, subnets } };
        const message = `User: x is not authorized to perform: ${action} on resource: *`;
        const statusCode = code === 'AccessDeniedException' ? 403 : 500;
        expect(await failureOf(mutation, { code, statusCode, message })).to.have.property('name', name);
      });

    it('has no backoff when the call was never sent', async () => {
      const reconcile = failing({ code: 'NotDispatched', message: 'the lease has run out' });
      for (let attempt = 0; attempt < 2; attempt++)
        expect(await run(reconcile)).to.deep.equal({
          end: 'NotNow: the lease has run out',
          did: ['createProfile failed'],
        });
    });

    it('counts as a retry of a failed profile once AWS has accepted it', async () => {
      const reconcile = reconcileStateFor(awsWith(aSimulatedRole(), aSimulatedProfile({ status: 'CREATE_FAILED' })));
      expect(await run(reconcile)).to.deep.equal({ end: 'CreateFailed', did: [] });
      expect(reconcile.retry.state.recovery).to.include({ generation: 1 });
      await services.clock.advance(10_000);
      expect(await run(reconcile)).to.deep.equal({ end: 'DeletingProfile', did: ['deleteProfile done'] });
      expect(reconcile.retry.state.recovery).to.deep.equal({ generation: 1, attempts: 1 });
    });
  });

  describe('an optional change', () => {
    const boundary = { kind: 'setBoundary', name: ROLE, policyArn: 'arn:aws:iam::aws:policy/b' } as const;
    const untag = { kind: 'untagProfile', name: PROFILE, arn: aProfile().arn, keys: ['team'] } as const;
    const planned = planOf(optional(untag), optional(boundary), change(SET_TRUST));
    const WHOLE = ['untagProfile failed', 'setBoundary done', 'setTrust done'];
    const after = async (operation: string, failure: Partial<AwsFailure>) => {
      const reconcile = reconcileStateFor(awsAsDesired());
      reconcile.session.onCall = (called) => (called === operation ? aFailure(failure) : undefined);
      const result = await execution(reconcile, {}, planned);
      const did = result.steps.map(({ mutation, outcome }) => `${mutation.kind} ${outcome.kind}`);
      return { end: describeEnd(result), notices: result.notices.map(({ name }) => name), did };
    };

    it('that AWS refuses is a notice, and the changes after it are made', async () => {
      for (const [failure, notice] of [
        [DENIED, 'AccessDenied'],
        [{ code: 'InvalidParameterException', statusCode: 400 }, 'Refused'],
        [{ service: 'iam', code: 'LimitExceeded', statusCode: 409 }, 'AWSQuotaExceeded'],
      ] as const)
        expect(await after('UntagResource', failure)).to.deep.equal({ end: 'in order', notices: [notice], did: WHOLE });
    });

    it('that AWS refuses prevents the later changes that would remove digests from the bookkeeping tags', async () => {
      const withLast = { ...planned, changes: [...planned.changes, ifAllMade({ ...untag, keys: ['record'] })] };
      const reconcile = reconcileStateFor(awsAsDesired());
      expect((await run(reconcile, {}, withLast)).did).to.have.length(4);
      reconcile.session.onCall = (called) => (called === 'UntagResource' ? aFailure(DENIED) : undefined);
      expect((await run(reconcile, {}, withLast)).did).to.deep.equal(WHOLE);
    });

    it('that has another error ends the reconcile, because the next attempt may succeed', async () => {
      expect(await after('UntagResource', {})).to.deep.equal({
        end: 'AWSUnavailable',
        notices: [],
        did: WHOLE.slice(0, 1),
      });
    });

    it('that sets the boundary required by the operator is a notice even after another error', async () => {
      const did = ['untagProfile done', 'setBoundary failed', 'setTrust done'];
      expect(await after('PutRolePermissionsBoundary', {})).to.deep.equal({
        end: 'in order',
        notices: ['AWSUnavailable'],
        did,
      });
    });

    it('that was not sent ends the reconcile without a notice', async () => {
      for (const [operation, did] of [
        ['UntagResource', ['untagProfile failed']],
        ['PutRolePermissionsBoundary', ['untagProfile done', 'setBoundary failed']],
      ] as const) {
        const end = await after(operation, { code: 'NotDispatched', message: 'the lease has run out' });
        expect(end).to.deep.equal({ end: 'NotNow: the lease has run out', notices: [], did });
      }
    });

    it('has its own backoff', async () => {
      const reconcile = reconcileStateFor(awsAsDesired());
      reconcile.session.onCall = (called) => (called === 'UntagResource' ? aFailure(DENIED) : undefined);
      await execution(reconcile, {}, planned);
      const again = await execution(reconcile, {}, planned);
      expect(again.notices.map(({ name }) => name)).to.deep.equal(['AccessDenied']);
      expect(again.steps.map(({ mutation }) => mutation.kind)).to.deep.equal(['setBoundary', 'setTrust']);
    });
  });

  for (const [situation, failure, end, notices] of [
    ['AWS denies', DENIED, 'in order', ['AccessDenied']],
    ['was not sent', { code: 'NotDispatched', message: 'the lease has run out' }, 'NotNow: the lease has run out', []],
  ] as const)
    it(`the removal of a predecessor that ${situation} ends with "${end}"`, async () => {
      const reconcile = reconcileStateFor(awsAsDesired());
      reconcile.session.onCall = () => aFailure(failure);
      const leftovers = [change({ ...DELETE_PROFILE, because: 'replaced' })];
      const result = await execution(reconcile, {}, { ...planOf(), leftovers });
      expect(describeEnd(result)).to.equal(end);
      expect(result.notices.map(({ name }) => name)).to.deep.equal(notices);
    });

  describe('the record of a create request', () => {
    const REFUSED = { code: 'InvalidParameterException', statusCode: 400 };

    it('counts as refused in this process once AWS has refused the request, because the annotation still has it', async () => {
      const [reconcile, unanswered] = [
        reconcileStateFor(awsWith(aSimulatedRole())),
        reconcileStateFor(awsWith(aSimulatedRole())),
      ];
      reconcile.session.onCall = () => aFailure(REFUSED);
      unanswered.session.onCall = () => aFailure({ code: 'NoAnswer' });
      for (const each of [reconcile, unanswered]) await run(each);
      const refusalsIn = ({ retry }: ReconcileState) =>
        Object.values(retry.state.unanswered ?? {}).map(({ isRefused }) => isRefused);
      expect(refusalsIn(reconcile)).to.deep.equal([true]);
      expect(refusalsIn(unanswered)).to.deep.equal([]);
    });

    it('goes when the request is refused or was never sent, unless an earlier one has had no answer', async () => {
      const earlier = { name: PROFILE, requestedAt: NOW - 5_000 };
      for (const failure of [REFUSED, { code: 'NotDispatched' }])
        for (const profiles of [[], [earlier, { ...earlier, name: ProfileName.of('other') }]]) {
          const reconcile = reconcileStateFor(awsWith(aSimulatedRole()));
          reconcile.record = { ...reconcile.record, profiles };
          reconcile.session.onCall = () => aFailure(failure);
          await run(reconcile);
          expect(reconcile.record.profiles).to.have.deep.members(profiles);
          expect(reconcile.retry.state.recorded, 'in this process').to.equal(reconcile.record);
        }
    });
  });

  describe('the access entry of the role', () => {
    const OUTDATED = { type: 'FARGATE_LINUX', roleId: 'AROAFORMER', createdAt: -2 };
    const withEntry = (aws: SimulatedAws): SimulatedAws => {
      aws.accessEntries.set(ROLE_ARN, OUTDATED);
      return aws;
    };
    const idIn = (aws: SimulatedAws) => aws.accessEntries.get(ROLE_ARN)?.roleId;
    const denying = (aws: SimulatedAws, denied: string, object?: AWSFargateProfile): ReconcileState => {
      const reconcile = reconcileStateFor(aws, object);
      reconcile.session.onCall = (operation) => (operation === denied ? aFailure(DENIED) : undefined);
      return reconcile;
    };

    it('is deleted before the profile is created, after the record says so', async () => {
      const aws = withEntry(awsWith(aSimulatedRole()));
      const recorded: string[] = [];
      const profileWriter = notingWriter(async (object, text) => {
        if (text.includes(`"entry":"${ROLE_ARN}"`)) recorded.push(idIn(aws) ?? 'deleted');
        return object;
      });
      expect(await run(reconcileStateFor(aws), { profileWriter })).to.deep.equal({
        end: 'Creating',
        did: ['deleteAccessEntry done', 'createProfile done'],
      });
      expect(recorded[0]).to.equal('AROAFORMER');
      expect(idIn(aws)).to.equal('AROAEXAMPLE');
    });

    it('stays while another profile uses the role, and the role does not count as kept', async () => {
      const theirs = aSimulatedProfile({ name: 'theirs', tags: {} });
      const result = await execution(reconcileStateFor(withEntry(awsWith(aSimulatedRole(), theirs))));
      expect(result.steps.map(({ mutation }) => mutation.kind)).to.deep.equal(['createProfile']);
      expect(result.kept).to.deep.equal([]);
    });

    it('blocks neither a creation nor a deletion when AWS denies its deletion, and is no problem of the object', async () => {
      for (const [object, did] of [
        [anObject(), ['deleteAccessEntry failed', 'createProfile done']],
        [aDeletedObject(), ['detachPolicy done', 'deleteAccessEntry failed', 'deleteRole done']],
      ] as const) {
        const result = await execution(denying(withEntry(awsWith(aSimulatedRole())), 'DeleteAccessEntry', object));
        expect(result.steps.map(({ mutation, outcome }) => `${mutation.kind} ${outcome.kind}`)).to.deep.equal(did);
        expect(result.notices).to.deep.equal([]);
      }
    });

    for (const [operation, left] of [
      ['DeleteAccessEntry', 'outdated'],
      ['CreateAccessEntry', 'missing'],
    ] as const)
      it(`stops an object whose live profile has an outdated entry when AWS denies ${operation}`, async () => {
        const { end } = await execution(denying(withEntry(awsAsDesired()), operation));
        expect(end).to.have.property('name', 'RoleRecreated');
        expect(end, 'what is left').to.have.nested.property('facts.entry', left);
        expect(end).to.have.nested.property('facts.refusal').that.contains('AccessDeniedException');
      });

    it('does not stop such an object for another reason than that AWS does not answer', async () => {
      const reconcile = reconcileStateFor(withEntry(awsAsDesired()));
      reconcile.session.onCall = (operation) => (operation === 'CreateAccessEntry' ? aFailure() : undefined);
      expect((await run(reconcile)).end).to.equal('AWSUnavailable');
    });
  });
});
