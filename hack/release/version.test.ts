import { expect } from 'chai';
import { problemOf } from './version.ts';

const METADATA = `releaseSeries:
  - major: 0
    minor: 1
    contract: v1beta2
`;

describe('the version of a release', () => {
  for (const version of ['v0.1.0', 'v0.1.0-rc.1'])
    it(`can be ${version}`, () => expect(problemOf(version, '0.1.0', METADATA)).to.equal(undefined));

  const refused: readonly (readonly [version: string, packageVersion: string, problem: string])[] = [
    ['', '0.1.0', '"" is not a version like v0.1.0'],
    ['0.1.0', '0.1.0', '"0.1.0" is not a version like v0.1.0'],
    ['v0.1', '0.1.0', '"v0.1" is not a version like v0.1.0'],
    ['v0.1.1', '0.1.0', 'package.json has version 0.1.0, not v0.1.1'],
    ['v0.2.0', '0.2.0', 'metadata.yaml has no series 0.2: clusterctl would refuse v0.2.0'],
  ];
  for (const [version, packageVersion, problem] of refused)
    it(`cannot be "${version}" with ${packageVersion} in package.json`, () =>
      expect(problemOf(version, packageVersion, METADATA)).to.equal(problem));
});
