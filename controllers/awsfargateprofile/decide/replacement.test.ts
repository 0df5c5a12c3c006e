import { expect } from 'chai';
import { ProfileName } from '../../../api/names.ts';
import type { AWSFargateProfileStatus } from '../../../api/v1beta2/index.ts';
import { MOVED, PROFILE, RECORDED, aProfile, anObject, desiredOf } from '../testing/builders.ts';
import { FOREIGN_TAGS, PROVISIONED } from '../testing/fixtures.ts';
import { isOfReplacement, searchFor } from './replacement.ts';

describe('searchFor', () => {
  const [DERIVED, STRANGE] = [ProfileName.of('team-a_web-0123abcd'), ProfileName.of('theirs')];
  const replace = { updateStrategy: { type: 'Replace' } } as const;
  const of = (status: AWSFargateProfileStatus, spec = {}) => desiredOf(anObject({ spec, status }));
  const replaceable = of(PROVISIONED, replace);
  const { wanted } = replaceable;
  const renamed = { ...replaceable, wanted: wanted && { ...wanted, profile: { ...wanted.profile, name: DERIVED } } };
  const predecessors = [{ name: DERIVED }];
  const there = [{ name: PROFILE, found: aProfile() }];
  const absent = [{ name: PROFILE, found: undefined }];
  const underOtherName = [...absent, { name: DERIVED, found: aProfile({ name: DERIVED }) }];
  for (const [situation, desired, profiles, searched] of [
    ['an object with its profile', of(PROVISIONED), there, 'nothing'],
    ['an object whose profile may be replaced', replaceable, there, 'nothing'],
    ['an object whose profile may be replaced, before the first one', replaceable, absent, 'nothing'],
    ['a replacement', replaceable, underOtherName, 'derived names'],
    ['an object that records a predecessor', of({ ...RECORDED, ...PROVISIONED, predecessors }), there, 'derived names'],
    ['an object whose profile has a derived name', renamed, underOtherName, 'nothing'],
    ['an object whose profile has another name', of(PROVISIONED), underOtherName, 'nothing'],
    ['a moved object', desiredOf(anObject(MOVED)), absent, 'derived names'],
    ['a moved object with its profile', desiredOf(anObject(MOVED)), there, 'nothing'],
    [
      'a moved object whose profile may be replaced',
      desiredOf(anObject({ ...MOVED, spec: replace })),
      there,
      'all names',
    ],
  ] as const)
    it(`tells for ${situation} to read ${searched} of the list`, () => {
      const isToBeRead = searchFor(desired, profiles) ?? (() => false);
      const found = [DERIVED, STRANGE].filter((name) => isToBeRead(name));
      expect(found.length === 2 ? 'all names' : found.length === 1 ? 'derived names' : 'nothing').to.equal(searched);
    });

  it('finds foreign profiles only under derived names', () => {
    const foreign = (name: ProfileName) => aProfile({ name, tags: FOREIGN_TAGS });
    expect([DERIVED, STRANGE].map((name) => isOfReplacement(replaceable, foreign(name)))).to.deep.equal([true, false]);
    expect(isOfReplacement(replaceable, aProfile({ name: STRANGE })), 'an own one').to.equal(true);
  });
});
