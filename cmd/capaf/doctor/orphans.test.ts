import { expect } from 'chai';
import fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import type { KubeObject } from 'controller-runtime/client';
import { toPrintableLine } from 'controller-runtime/text';
import { EksClusterName, ProfileName, RoleArn, RoleName } from '../../../api/names.ts';
import {
  CLUSTER_ARN,
  HERE,
  ROLE,
  ROLE_ARN,
  anObject,
  aProfile,
} from '../../../controllers/awsfargateprofile/testing/builders.ts';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { hostileText, recordCommands } from '../testing/recording-shell.ts';
import { type Orphan, findOrphans } from './orphans.ts';
import type { AwsFacts, TaggedRole } from './read-aws.ts';

const OWNER = 'sigs.k8s.io/cluster-api-provider-aws-fargate/owner';
const PROFILE: FargateProfile = aProfile({
  name: ProfileName.of('team-a_web'),
  arn: CLUSTER_ARN.replace(':cluster/', ':fargateprofile/') + '/team-a_web/1',
  podExecutionRoleArn: ROLE_ARN,
  tags: { [OWNER]: 'team-a/web' },
});
const WEB: readonly KubeObject[] = [{ ...anObject() }];
const roleOf = (change: Partial<TaggedRole> = {}): TaggedRole => ({
  name: ROLE,
  arn: ROLE_ARN,
  clusterArn: CLUSTER_ARN,
  namespace: 'team-a',
  ...change,
});
const orphansAmong = (
  profiles: readonly FargateProfile[],
  roles: readonly TaggedRole[],
  objects: readonly KubeObject[],
): readonly Orphan[] => {
  const eks = { cluster: undefined as never, region: undefined, free: E.left('not asked') };
  const clusters: AwsFacts['clusters'] = [{ ...eks, profiles: E.right(profiles) }];
  return findOrphans({ clusters, roles: E.right(roles) }, objects);
};
const namesOf = (orphans: readonly Orphan[]): readonly string[] => orphans.map(({ name }) => name.replace(/^.* /, ''));

describe('an orphan among the Fargate profiles', () => {
  const cases: readonly (readonly [
    given: string,
    profile: Partial<FargateProfile>,
    objects: readonly KubeObject[],
    boolean,
  ])[] = [
    ['whose object does not exist', {}, [], true],
    ['whose object exists', {}, WEB, false],
    ['whose object cannot be decoded', {}, [{ ...anObject(), spec: 1 }], false],
    ['without an owner tag', { tags: {} }, [], false],
    ['that EKS is deleting', { status: 'DELETING' }, [], false],
  ];
  for (const [given, profile, objects, isOrphan] of cases)
    it(`${isOrphan ? 'is' : 'is not'} one ${given}`, () =>
      expect(namesOf(orphansAmong([{ ...PROFILE, ...profile }], [], objects))).to.deep.equal(
        isOrphan ? [PROFILE.name] : [],
      ));

  it('is a profile that its object does not use, and the commands do not delete it', () => {
    const status = { profileName: 'team-a_new', predecessors: [{ name: 'team-a_old' }] };
    const names = ['team-a_new', 'team-a_old', 'team-a_web'].map((name) => ProfileName.of(name));
    const profiles = names.map((name) => ({ ...PROFILE, name }));
    const orphans = orphansAmong(profiles, [], [{ ...anObject(), status }]);
    expect(orphans).to.deep.equal([
      {
        name: 'FargateProfile team-a_web',
        message: 'has the tag of AWSFargateProfile team-a/web, which uses "team-a_new"',
        fix: 'The conditions of the object say what the controller does with it',
        commands: ['kubectl -n team-a describe awsfargateprofile/web'],
      },
    ]);
  });
});

describe('the commands that remove an orphan', () => {
  it('run with the very names of AWS, whatever these are', () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        const region = text.replaceAll(/[:/]/g, '');
        const arn = `arn:aws:eks:${region}:1:fargateprofile/x/y/z`;
        const profile = { ...PROFILE, arn, name: ProfileName.of(text), cluster: EksClusterName.of(text) };
        const orphans = orphansAmong([profile], [roleOf({ name: RoleName.of(text) })], []);
        const line = toPrintableLine(orphans.flatMap(({ commands }) => commands).join(' && '));
        const of = [`--region=${region}`, `--cluster-name=${text}`, `--fargate-profile-name=${text}`].map(
          toPrintableLine,
        );
        const recorded = recordCommands(line.replace('$(aws', '$(printf arn; : aws'));
        expect(recorded).to.deep.equal([
          ['aws', 'eks', 'delete-fargate-profile', ...of],
          ['aws', 'eks', 'wait', 'fargate-profile-deleted', ...of],
          ['aws', 'iam', 'detach-role-policy', toPrintableLine(`--role-name=${text}`), '--policy-arn=arn'],
          ['aws', 'iam', 'delete-role', toPrintableLine(`--role-name=${text}`)],
        ]);
      }),
    );
  });
});

describe('an orphan among the IAM roles', () => {
  const withStatus = (status: object): readonly KubeObject[] => [{ ...anObject({ spec: { roleName: ROLE } }), status }];
  const other = anObject({ metadata: { name: 'other' } });
  const cases: readonly (readonly [
    string,
    TaggedRole,
    readonly Partial<FargateProfile>[],
    readonly KubeObject[],
    boolean,
  ])[] = [
    ['that no object names', roleOf(), [], [], true],
    ['of a profile that is an orphan too', roleOf(), [{}], [], true],
    ['of a profile that EKS is deleting', roleOf(), [{ status: 'DELETING' }], [], false],
    ['that an object computes as its name', roleOf(), [], WEB, false],
    [
      'that an object names in other case',
      roleOf({ name: RoleName.of('X'), arn: RoleArn.of('x') }),
      [],
      withStatus({ role: { name: 'x' } }),
      false,
    ],
    [
      'that the record of an object has, for example after a replacement',
      roleOf({ name: RoleName.of('x') }),
      [],
      [{ ...anObject({ record: { in: HERE, roles: [{ name: RoleName.of('x') }] } }) }],
      false,
    ],
    ['while an object of its namespace cannot be decoded', roleOf(), [], [{ ...anObject(), spec: 1 }], false],
    ['that the profile of another owner uses', roleOf(), [{ tags: {} }], [], false],
    ['of another namespace than the objects', roleOf({ namespace: 'team-b' }), [], WEB, true],
    ['of another object of the namespace', roleOf(), [], [{ ...other }], true],
  ];
  for (const [given, role, profiles, objects, isOrphan] of cases)
    it(`${isOrphan ? 'is' : 'is not'} one ${given}`, () =>
      expect(
        namesOf(
          orphansAmong(
            profiles.map((profile) => ({ ...PROFILE, ...profile })),
            [role],
            objects,
          ),
        ).filter((name) => name !== PROFILE.name),
      ).to.deep.equal(isOrphan ? [role.name] : []));

  it('comes after its profile, which is one orphan even if it was read twice', () => {
    const names = orphansAmong([PROFILE, PROFILE], [roleOf()], []).map(({ name }) => name);
    expect(names).to.deep.equal([`FargateProfile ${PROFILE.name}`, `Role ${ROLE}`]);
  });
});
