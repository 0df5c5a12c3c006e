import { expect } from 'chai';
import { ProfileName, RoleArn, RoleName } from '../../../api/names.ts';
import type { AWSFargateProfileSpec } from '../../../api/v1beta2/index.ts';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import type { ProfileRecord } from '../../shared/record.ts';
import type { FoundRole, Observed } from '../model/observed-state.ts';
import {
  HERE,
  FULL_RECORD,
  PROFILE,
  PROFILE_ID,
  ROLE,
  aProfile,
  aRole,
  anObject,
  desiredOf,
  observed,
} from '../testing/builders.ts';
import { CAPA_TAGS, FOREIGN_TAGS } from '../testing/fixtures.ts';

type Profiles = readonly FargateProfile[];
type Spec = Partial<AWSFargateProfileSpec>;

const REPLACE = { updateStrategy: { type: 'Replace' } } as const;
const DIFFERENT = { selectors: [{ namespace: 'other', labels: {} }] };
const FOREIGN = { tags: FOREIGN_TAGS };
const idOf = (name: string): string => (name === PROFILE ? PROFILE_ID : `id-of-${name}`);
const named = (name: string, over: Partial<FargateProfile> = {}): FargateProfile =>
  aProfile({ name: ProfileName.of(name), arn: aProfile().arn.replace(PROFILE_ID, idOf(name)), ...over });
const base = (over: Partial<FargateProfile> = {}): FargateProfile => named(PROFILE, over);
const [NINE, EIGHT] = ['9999-team-a_web', '9998-team-a_web'];

const arnOf = (role: string): RoleArn => RoleArn.of(`arn:aws:iam::111122223333:role/${role}`);
const PODS: FoundRole = aRole({ name: RoleName.of('pods') });
const WITH_PODS = { podExecutionRoleArn: PODS.arn };
const FORMER_ROLE_OF_CAPA = 'team-a_prod-control-plane-team-a_web_fargate';

const served = (...names: readonly string[]): Partial<ProfileRecord> => ({
  in: HERE,
  profiles: names.map((name) => ({ name: ProfileName.of(name), id: idOf(name), served: true })),
});

function nameFor(profiles: Profiles, spec: Spec = {}, record: Partial<ProfileRecord> = {}): string | undefined {
  const seen: Observed = { ...observed({ role: aRole() }), profiles };
  const roles = [...seen.roles, { name: PODS.name, found: PODS }];
  return desiredOf(anObject({ spec, record }), {}, { ...seen, roles }).profile?.name;
}

describe('The name of the desired profile', () => {
  for (const [topic, rows] of Object.entries<
    readonly (readonly [string, string, Profiles, Spec?, Partial<ProfileRecord>?])[]
  >({
    'is that of a profile which is as the spec asks for:': [
      ['the base name', PROFILE, [base()]],
      ['the name of a replacement', NINE, [named(NINE)]],
      ['the name of a replacement, under Replace', NINE, [named(NINE), base(DIFFERENT)], REPLACE],
      ['the base name, after a change back', PROFILE, [named(NINE, DIFFERENT), base()], REPLACE],
      ['the ACTIVE one of two', NINE, [base({ status: 'CREATING' }), named(NINE)], REPLACE],
      [
        'the ACTIVE one of two, although the other is recorded',
        NINE,
        [base({ status: 'CREATING' }), named(NINE)],
        REPLACE,
        served(PROFILE),
      ],
      ['the first of two that are ACTIVE', EIGHT, [base(), named(NINE), named(EIGHT)], REPLACE],
      ['its base, which spec.profileName spells', NINE, [named(NINE)], { profileName: PROFILE, ...REPLACE }],
      [
        'the very name, which spec.profileName spells',
        NINE,
        [named(NINE)],
        { profileName: ProfileName.of(NINE), ...REPLACE },
      ],
    ],
    'is another than that of a profile which': [
      ['differs', NINE, [base(DIFFERENT)], REPLACE],
      ['EKS deletes', PROFILE, [named(NINE, { status: 'DELETING' })], REPLACE],
      ['EKS failed to create', PROFILE, [named(NINE, { status: 'CREATE_FAILED' })], REPLACE],
      ['EKS failed to delete', PROFILE, [named(NINE, { status: 'DELETE_FAILED' })], REPLACE],
      ['belongs to another object', PROFILE, [named(NINE, FOREIGN)], REPLACE],
      ['belongs to Cluster API Provider AWS under another name', PROFILE, [named(NINE, { tags: CAPA_TAGS })], REPLACE],
      ['has a name of another kind', NINE, [named('other')], REPLACE],
    ],
    'follows from the subnets and the role of a profile': [
      ['which are any, if the spec names none', PROFILE, [base({ subnets: ['subnet-0f'], ...WITH_PODS })], REPLACE],
      ['in the subnets of the spec', PROFILE, [base()], { subnetIDs: ['subnet-0b', 'subnet-0a'], ...REPLACE }],
      ['in other subnets than those of the spec', NINE, [base()], { subnetIDs: ['subnet-0a'], ...REPLACE }],
      ['with the role of spec.roleARN', PROFILE, [base(WITH_PODS)], { roleARN: PODS.arn, ...REPLACE }],
      ['with another role than that of spec.roleARN', NINE, [base()], { roleARN: PODS.arn, ...REPLACE }],
      [
        'with the role of spec.roleName, in any case',
        PROFILE,
        [base(WITH_PODS)],
        { roleName: RoleName.of('Pods'), ...REPLACE },
      ],
      ['with another role than that of spec.roleName', NINE, [base()], { roleName: RoleName.of('pods'), ...REPLACE }],
      ['with a role that CAPA computes', PROFILE, [base({ podExecutionRoleArn: arnOf(FORMER_ROLE_OF_CAPA) })], REPLACE],
      ['with a role of another owner', NINE, [base({ podExecutionRoleArn: arnOf('theirs') })], REPLACE],
      [
        'with a role of the record that IAM does not have any more',
        PROFILE,
        [base({ podExecutionRoleArn: arnOf('gone') })],
        REPLACE,
        { ...FULL_RECORD, roles: [{ name: RoleName.of('gone'), id: 'AROAGONE' }] },
      ],
      [
        "with another owner's role of the record",
        NINE,
        [base({ podExecutionRoleArn: arnOf('gone') })],
        REPLACE,
        { ...FULL_RECORD, roles: [{ name: RoleName.of('gone'), id: 'AROAGONE', managed: false }] },
      ],
    ],
    'of a profile that is to be created, under Replace, is': [
      ['the base name, if the object has none', PROFILE, [], REPLACE],
      ['the base name, also if a foreign profile has it', PROFILE, [base(FOREIGN)], REPLACE],
      ['the base name, if its own profile failed', PROFILE, [base({ ...DIFFERENT, status: 'CREATE_FAILED' })], REPLACE],
      ['one less than the smallest digits', EIGHT, [base(DIFFERENT), named(NINE, DIFFERENT)], REPLACE],
      [
        'one less, although EKS deletes the other',
        EIGHT,
        [base(DIFFERENT), named(NINE, { status: 'DELETING' })],
        REPLACE,
      ],
      ['the same again, after a failure', NINE, [base(DIFFERENT), named(NINE, { status: 'CREATE_FAILED' })], REPLACE],
      ['one that no foreign profile has', EIGHT, [base(DIFFERENT), named(NINE, FOREIGN)], REPLACE],
      [
        'one that no failed foreign profile has',
        EIGHT,
        [base(DIFFERENT), named(NINE, { ...FOREIGN, status: 'CREATE_FAILED' })],
        REPLACE,
      ],
      ['a new spec.profileName as it is', 'new', [base()], { profileName: ProfileName.of('new'), ...REPLACE }],
      [
        'a new spec.profileName that a foreign profile has',
        'new',
        [base(), named('new', FOREIGN)],
        { profileName: ProfileName.of('new'), ...REPLACE },
      ],
      [
        'a name after spec.profileName',
        '9999-new',
        [named('new', DIFFERENT)],
        { profileName: ProfileName.of('new'), ...REPLACE },
      ],
      ['of the computed base, after spec.profileName was removed', NINE, [named('former')], REPLACE, served('former')],
    ],
    'of a profile that differs, under Reject, is': [
      ['its own', PROFILE, [base(DIFFERENT)]],
      [
        'that of the replacement which served last',
        NINE,
        [named(EIGHT, DIFFERENT), named(NINE, DIFFERENT)],
        {},
        served(EIGHT, NINE),
      ],
      ['the base, if it has another', PROFILE, [named('former')], { profileName: PROFILE }, served('former')],
      ['its own, after spec.profileName was removed', 'former', [named('former', DIFFERENT)], {}, served('former')],
      [
        'that of a replacement, after spec.profileName was removed',
        '9999-former',
        [named('9999-former')],
        {},
        served('9999-former'),
      ],
      ['the computed one, if the recorded one is gone', PROFILE, [], {}, served('former')],
      ['the computed one, if the recorded one is foreign', PROFILE, [named('former', FOREIGN)], {}, served('former')],
      [
        'its own, after spec.profileName and its tags were removed',
        'former',
        [named('former', { tags: {} })],
        {},
        served('former'),
      ],
      [
        'its own, after spec.profileName was removed before it has served',
        'former',
        [named('former', DIFFERENT)],
        {},
        { in: HERE, profiles: [{ name: ProfileName.of('former'), id: idOf('former') }] },
      ],
    ],
  }))
    describe(topic, () => {
      for (const [situation, name, profiles, spec, record] of rows)
        it(`${situation}: ${name}`, () => expect(nameFor(profiles, spec, record)).to.equal(name));
    });

  it('comes before that of the profile which it replaces, however often the spec changes', () => {
    const profiles = [base(DIFFERENT)];
    for (let change = 0; change < 5; change++) profiles.push(named(nameFor(profiles, REPLACE) ?? '', DIFFERENT));
    const names = profiles.map(({ name }) => name);
    expect(names.toSorted()).to.deep.equal(names.toReversed());
    expect(new Set(names).size).to.equal(6);
    expect(ROLE, 'the role follows from the base').to.equal(
      desiredOf(anObject({ spec: REPLACE }), {}, { ...observed(), profiles }).role?.name,
    );
  });
});
