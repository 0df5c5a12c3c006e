import { expect } from 'chai';
import { changesOf, releaseNotes } from './notes.ts';

const CHANGELOG = `# Changelog

All changes.

## [Unreleased]

### Added

- **Next**: something new

## [0.1.1] - 2027-01-10

### Fixed

- **First**: a mistake

## [0.1.0] - 2026-12-01
`;

describe('the release notes', () => {
  it('have the changes of their version', () => {
    expect(changesOf(CHANGELOG, 'v0.1.1')).to.equal('### Fixed\n\n- **First**: a mistake');
  });

  it('have the unreleased changes if the changelog does not name the version', () => {
    expect(changesOf(CHANGELOG, 'v0.2.0')).to.equal('### Added\n\n- **Next**: something new');
  });

  it('are refused if a version has no changes', () => {
    expect(() => changesOf(CHANGELOG, 'v0.1.0')).to.throw('CHANGELOG.md has no changes for v0.1.0');
  });

  it('name the image', () => {
    expect(releaseNotes(CHANGELOG, 'v0.1.1', 'example.com/manager:v0.1.1')).to.contain('`example.com/manager:v0.1.1`');
  });
});
