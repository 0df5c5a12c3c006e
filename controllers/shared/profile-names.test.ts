import { expect } from 'chai';
import { EksClusterName, ProfileName, RoleName } from '../../api/names.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import {
  type ObjectParts,
  HERE,
  NOW,
  PROFILE,
  RECORDED,
  ROLE,
  ROLE_ARN,
  anObject,
} from '../awsfargateprofile/testing/builders.ts';
import type { RecordedProfile } from './record.ts';
import { baseNameOf, currentProfileNameOf, roleNameOf } from './profile-names.ts';

const [FORMER, NEXT] = [ProfileName.of('former'), ProfileName.of(`9999-${PROFILE}`)];
const replace = { updateStrategy: { type: 'Replace' } } as const;
const noting = (...profiles: readonly RecordedProfile[]) => ({ record: { in: HERE, profiles } });
const served = (name: ProfileName): RecordedProfile => ({ name, id: `id-of-${name}`, served: true });
const unserved = (name: ProfileName): RecordedProfile => ({ name, requestedAt: NOW });

describe('baseNameOf', () => {
  const rows: readonly (readonly [string, ObjectParts, name: ProfileName])[] = [
    ['the computed name', {}, PROFILE],
    ['spec.profileName', { spec: { profileName: FORMER }, ...noting(served(NEXT)) }, FORMER],
    [
      'the recorded name of the profile that serves, if a client has removed spec.profileName',
      noting(served(FORMER)),
      FORMER,
    ],
    [
      'that in the status of an object that has lost its record too',
      { metadata: { annotations: {} }, status: { ...RECORDED, profileName: FORMER } },
      FORMER,
    ],
    ['the computed name if a replacement serves, whose name derives from it', noting(served(NEXT)), PROFILE],
    [
      'that of a profile that has not served yet, because a removed field deletes no profile',
      noting(unserved(FORMER)),
      FORMER,
    ],
    [
      'that of the profile that serves, before others',
      noting(served(FORMER), unserved(ProfileName.of('other'))),
      FORMER,
    ],
    [
      'the computed name under Replace, which may change the name',
      { spec: replace, ...noting(served(FORMER)) },
      PROFILE,
    ],
  ];
  for (const [what, parts, name] of rows) it(`is ${what}`, () => expect(baseNameOf(anObject(parts))).to.equal(name));
});

describe('currentProfileNameOf', () => {
  const rows: readonly (readonly [string, ObjectParts, name: ProfileName])[] = [
    ['the base name of an object without a profile', {}, PROFILE],
    ['the replacement that serves', noting(served(PROFILE), served(NEXT)), NEXT],
    ['the profile that serves while its replacement is created', noting(served(PROFILE), unserved(NEXT)), PROFILE],
    ['the replacement that is created if nothing serves', noting(unserved(NEXT)), NEXT],
    ['none of another base name', { spec: replace, ...noting(served(FORMER)) }, PROFILE],
  ];
  for (const [what, parts, name] of rows)
    it(`is ${what}`, () => expect(currentProfileNameOf(anObject(parts))).to.equal(name));
});

describe('roleNameOf', () => {
  const { clusterName: _cluster, ...SPEC_WITHOUT_CLUSTER } = anObject().spec;
  const withoutCluster = (parts: ObjectParts = {}): AWSFargateProfile => {
    const object = anObject(parts);
    return { ...object, spec: { ...SPEC_WITHOUT_CLUSTER, ...parts.spec } };
  };
  const rows: readonly (readonly [string, AWSFargateProfile, name: string | undefined])[] = [
    ['the name that Cluster API Provider AWS computes', anObject(), ROLE],
    ['spec.roleName', anObject({ spec: { roleName: RoleName.of('pods') } }), 'pods'],
    ['none with spec.roleARN', anObject({ spec: { roleARN: ROLE_ARN } }), undefined],
    [
      'that of the base name, not of a replacement',
      anObject({ spec: replace, ...noting(served(PROFILE), served(NEXT)) }),
      ROLE,
    ],
    [
      'computed with the EKS cluster of spec.eksCluster',
      withoutCluster({ spec: { eksCluster: { name: EksClusterName.of('prod') } } }),
      ROLE,
    ],
    [
      'computed with the EKS cluster of the record, if the API server has dropped the field',
      withoutCluster(noting()),
      `${HERE.eksCluster}-${PROFILE}_fargate`,
    ],
    ['none if nothing names a cluster', withoutCluster(), undefined],
  ];
  for (const [what, object, name] of rows) it(`is ${what}`, () => expect(roleNameOf(object)).to.equal(name));
});
