import { expect } from 'chai';
import { RoleName } from '../../api/names.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import { VirtualClock } from '../../pkg/env/testing/virtual-clock.ts';
import { plan } from './decide/plan.ts';
import { execute } from './execute.ts';
import type { CompletedPass, Execution } from './model/pass.ts';
import { eventsAfter } from './status/events.ts';
import { statusAfter } from './status/status.ts';
import {
  NOW,
  PROFILE,
  PROFILE_TAGS,
  RECORDED,
  ROLE,
  ROLE_TAGS,
  aDeletedObject,
  aFailure,
  anObject,
} from './testing/builders.ts';
import { READY, conditionsOf } from './testing/completed-pass.ts';
import { isOnRecord, recordTag } from './testing/expected-state.ts';
import { CAPA_TAGS } from './testing/fixtures.ts';
import { describePlan } from './testing/mutations.ts';
import { newLanes } from './testing/lanes.ts';
import type { ServiceOverrides } from './testing/pass-state.ts';
import {
  LANE,
  aSimulatedProfile,
  aSimulatedRole,
  awsAsWanted,
  awsWith,
  newGuards,
  newServices,
  passStateFor,
  roleUsers,
} from './testing/pass-state.ts';
import type { SimulatedAws } from './testing/simulated-aws.ts';

/** Plans and executes one pass. `denied` names an operation that AWS refuses. */
async function pass(object: AWSFargateProfile, aws: SimulatedAws, over: ServiceOverrides = {}, denied?: string) {
  const services = newServices(over);
  const state = passStateFor(aws, object);
  state.session.onCall = (operation) =>
    operation === denied
      ? aFailure({
          service: 'iam',
          operation,
          code: 'AccessDenied',
          statusCode: 403,
          message: `not allowed: iam:${operation}`,
        })
      : undefined;
  const { desired, observed } = state;
  const facts = { desired, observed, plan: plan(desired, observed) };
  const execution: Execution = { end: 'inOrder', steps: [], notices: [], kept: [] };
  await execute(facts.plan, state, execution, { ...services, guards: newGuards(services) });
  const { end } = execution;
  const completed: CompletedPass = { object: state.object, end, facts, execution, now: NOW, waited: 0, attempts: 0 };
  return {
    planned: describePlan(facts.plan),
    end: end === 'inOrder' ? end : end.name,
    status: statusAfter(completed),
    events: eventsAfter(completed).map(({ reason, message }) => `${reason}: ${message}`),
  };
}

const usedBy = (other: string): ServiceOverrides => ({
  live: { findBlocker: async () => undefined, readRoleUsers: async () => roleUsers(other) },
});

describe('a pass', () => {
  it('keeps the role of a deleted object that another object uses, and ends the deletion', async () => {
    const aws = awsAsWanted();
    const object = aDeletedObject({ status: { ...READY, ...RECORDED, role: { name: ROLE, managed: true } } });
    const first = await pass(object, aws);
    expect(first.planned).to.equal('delete unwanted profile; stop: DeletingProfile');
    expect(first.end).to.equal('DeletingProfile');
    while (aws.isChanging) aws.tick();
    const second = await pass({ ...object, status: first.status }, aws, usedBy('team-a/api'));
    expect(second.planned).to.equal('strip pod policy; delete role; in order');
    expect(second.end, 'so the finalizer goes').to.equal('inOrder');
    expect([...aws.roles.values()]).to.deep.equal([aSimulatedRole()]);
    expect(second.events).to.deep.equal([
      `SuccessfulDeleteEKSFargateProfile: Deleted EKS fargate profile ${PROFILE}`,
      `KeptIAMRole: Kept fargate IAM role "${ROLE}", because AWSFargateProfile team-a/api uses it`,
    ]);
  });

  it('edits tags at once while two siblings wait in the lane, and stays Ready if AWS refuses to remove one', async () => {
    const before = { ...recordTag('tag old'), old: 'x' };
    const aws = awsWith(
      aSimulatedProfile({ tags: { ...PROFILE_TAGS, ...before } }),
      aSimulatedRole({ tags: { ...ROLE_TAGS, ...before } }),
    );
    const status = { ...READY, ...RECORDED, tagKeys: ['old'], role: { name: ROLE, managed: true, id: 'AROAEXAMPLE' } };
    const object = anObject({ spec: { additionalTags: { team: 'web' } }, status });
    const sibling = (name: string) => anObject({ metadata: { name, uid: name } });
    const { lanes, put } = newLanes(new VirtualClock());
    for (const each of [sibling('a'), sibling('b'), object]) put(each);
    lanes.saw(LANE, 'team-a_a', 'being created', sibling('a'));
    expect(lanes.findAhead(LANE, object)).to.equal(undefined);

    const { planned, end, status: after } = await pass(object, aws, { lanes }, 'UntagRole');
    expect(planned).to.equal(
      'tag role with added,team?; untag role of old?; tag role with added?; ' +
        'tag profile with added,team?; untag profile of old?; tag profile with added?; in order',
    );
    expect(end).to.equal('inOrder');
    expect(aws.profiles.get(PROFILE)?.tags).to.include({ team: 'web' }).and.not.to.have.property('old');
    const { tags: roleTags = {} } = aws.roles.get(ROLE.toLowerCase()) ?? {};
    expect(roleTags).to.include({ team: 'web', old: 'x' });
    expect(isOnRecord(roleTags, 'tag old'), 'the record keeps what is left').to.equal(true);
    expect(conditionsOf(after)).to.include({ Ready: 'True / Ready', Stalled: 'True / AccessDenied' });
    const message = after.conditions?.find(({ type }) => type === 'Stalled')?.message;
    expect(message).to.include('"old"').and.to.include('iam:UntagRole');
    expect(after.tagKeys, 'so a later pass removes the tag').to.include('old');
  });

  it('adopts a profile and a role of CAPA with one tag each, and reads AWS again after each', async () => {
    const aws = awsWith(aSimulatedProfile({ tags: CAPA_TAGS }), aSimulatedRole({ tags: CAPA_TAGS, attached: [] }));
    const plans: string[] = [];
    for (let status = {}; plans.length < 4;) {
      const { planned, status: after } = await pass(anObject({ status }), aws);
      plans.push(planned);
      status = after;
    }
    expect(plans).to.deep.equal([
      'tag profile with owner; stop: Outdated',
      'tag role with eks-cluster,namespace; stop: Outdated',
      'attach pod policy; in order',
      'in order',
    ]);
  });

  it('makes a role with a new name although the former role stays, because another object uses it', async () => {
    const former = aSimulatedRole({ name: 'former-role' });
    const aws = awsWith(former);
    const role = { name: RoleName.of('former-role'), managed: true };
    const { planned } = await pass(anObject({ status: { role } }), aws, usedBy('team-a/api'));
    expect(planned).to.equal(
      'strip pod policy; delete role former-role; create role; attach pod policy; create profile; stop: Creating',
    );
    expect(aws.roles.get('former-role')).to.deep.equal(former);
    expect([...aws.profiles.keys()]).to.deep.equal([PROFILE]);
  });

  it('makes no role with another path while another object uses the role', async () => {
    const aws = awsWith(aSimulatedRole());
    const { planned, status } = await pass(anObject({ spec: { rolePath: '/team-a/' } }), aws, usedBy('team-a/api'));
    expect(planned).to.equal('strip pod policy; delete role; stop: Outdated');
    expect([...aws.roles.values()]).to.deep.equal([aSimulatedRole()]);
    expect(status.conditions?.find(({ type }) => type === 'Ready')?.message).to.match(
      /^IAM role "prod-team-a_web_fargate" is also used by AWSFargateProfile team-a\/api, and this object has other values in spec\.rolePath\. /,
    );
  });
});
