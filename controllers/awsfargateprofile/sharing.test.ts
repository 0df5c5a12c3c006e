import { expect } from 'chai';
import { ProfileName, RoleArn, RoleName } from '../../api/names.ts';
import type { AWSFargateProfile, AWSFargateProfileSpec } from '../../api/v1beta2/index.ts';
import type { Tags } from '../../pkg/fargate/tags.ts';
import { settingsConflict } from './sharing.ts';
import { anObject } from './testing/builders.ts';

const shared = RoleName.of('shared');
const [logs, extra] = ['arn:aws:iam::aws:policy/CloudWatchLogs', 'arn:aws:iam::111122223333:policy/extra'];

const sharer = (name: string, createdAt: string, spec: Partial<AWSFargateProfileSpec> = {}): AWSFargateProfile =>
  anObject({
    metadata: { name, uid: `uid-of-${name}`, creationTimestamp: createdAt },
    spec: { roleName: shared, ...spec },
  });

const [OLD, YOUNG, YOUNGEST] = ['2026-11-19T00:00:00Z', '2026-11-20T00:00:00Z', '2026-11-21T00:00:00Z'];

const tagsOf = ({ spec }: AWSFargateProfile): Tags => spec.additionalTags ?? {};
const conflict = (object: AWSFargateProfile, ...sharers: readonly AWSFargateProfile[]) => {
  const found = settingsConflict(object, sharers, tagsOf);
  return found?.reason === 'RoleSettingsConflict' ? found.facts : found;
};

describe('settingsConflict', () => {
  it('is none for an object that shares with nobody', () => {
    expect(conflict(sharer('web', YOUNG))).to.equal(undefined);
  });

  it('is none between objects that want the role alike', () => {
    const spec = { rolePath: '/a/', roleAdditionalPolicies: [logs, extra], additionalTags: { team: 'a' } };
    const alike = { ...spec, roleAdditionalPolicies: [extra, logs, extra] };
    expect(conflict(sharer('web', YOUNG, spec), sharer('api', OLD, alike))).to.equal(undefined);
  });

  it('takes an absent path for what it means', () => {
    expect(conflict(sharer('web', YOUNG), sharer('api', OLD, { rolePath: '/' }))).to.equal(undefined);
  });

  it('names all that is wanted otherwise, and by whom', () => {
    const mine = {
      rolePath: '/a/',
      roleAdditionalPolicies: [logs],
      additionalTags: { team: 'a', only: 'mine' },
    };
    const theirs = {
      rolePermissionsBoundary: 'arn:aws:iam::111122223333:policy/bound',
      additionalTags: { team: 'b', other: 'theirs' },
    };
    const facts = conflict(sharer('web', YOUNG, mine), sharer('api', OLD, theirs));
    expect(facts)
      .to.include({ name: 'shared' })
      .and.to.deep.include({
        settings: ['rolePath', 'rolePermissionsBoundary', 'roleAdditionalPolicies', 'additionalTags["team"]'],
      });
    expect(JSON.stringify(facts)).to.include('team-a/api');
  });

  it('is one about a key that differs in case alone: IAM takes it for one', () => {
    const [mine, theirs] = [{ additionalTags: { Team: 'a', app: 'x' } }, { additionalTags: { team: 'b', APP: 'x' } }];
    expect(conflict(sharer('web', YOUNG, mine), sharer('api', OLD, theirs))).to.deep.include({
      settings: ['additionalTags["Team"]'],
    });
  });

  it('is the younger one’s, which is refused', () => {
    const [old, young] = [sharer('web', OLD), sharer('api', YOUNG, { rolePath: '/a/' })];
    expect(conflict(old, young)).to.equal(undefined);
    expect(conflict(young, old)).to.have.property('name', 'shared');
  });

  it('is the one with the later name’s, of two of one age', () => {
    const [a, b] = [sharer('a', OLD), sharer('b', OLD, { rolePath: '/a/' })];
    expect(conflict(a, b)).to.equal(undefined);
    expect(conflict(b, a)).to.have.property('name', 'shared');
  });

  it('is told with the oldest', () => {
    const facts = conflict(
      sharer('web', YOUNGEST, { rolePath: '/a/' }),
      sharer('middle', YOUNG, { rolePath: '/b/' }),
      sharer('first', OLD),
    );
    expect(JSON.stringify(facts)).to.include('team-a/first');
  });

  it('is one about the profile where both name the same', () => {
    const profileName = ProfileName.of('batch');
    const [old, young] = [sharer('web', OLD, { profileName }), sharer('api', YOUNG, { profileName, rolePath: '/a/' })];
    const found = settingsConflict(young, [old], tagsOf);
    expect(found?.reason).to.equal('ProfileNotOwned');
    expect(found?.facts).to.include({ name: 'batch', whose: 'the AWSFargateProfile team-a/web' });
    expect(settingsConflict(old, [young], tagsOf)).to.equal(undefined);
  });

  it('is none for a role of spec.roleARN, which is used as it is', () => {
    const object = anObject({ spec: { roleARN: RoleArn.of('arn:aws:iam::111122223333:role/shared') } });
    expect(conflict(object, sharer('api', OLD, { rolePath: '/a/' }))).to.equal(undefined);
  });
});
