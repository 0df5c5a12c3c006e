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
    for (const kind of ['published', 'development'] as const)
      expect(changesOf(CHANGELOG, 'v0.1.1', kind), kind).to.equal('### Fixed\n\n- **First**: a mistake');
  });

  it('of a development build or a pre-release have the unreleased changes', () => {
    const unreleased = '### Added\n\n- **Next**: something new';
    expect(changesOf(CHANGELOG, 'v0.2.0', 'development')).to.equal(unreleased);
    expect(changesOf(CHANGELOG, 'v0.2.0-rc.1', 'published')).to.equal(unreleased);
  });

  it('are refused if the changelog has no section for a version that is published', () => {
    expect(() => changesOf(CHANGELOG, 'v0.2.0', 'published')).to.throw(
      'CHANGELOG.md has no section for v0.2.0; before the tag is made, rename its section "## [Unreleased]" to "## [0.2.0] - <date>"',
    );
    expect(() => changesOf('# Changelog\n', 'v0.2.0', 'development')).to.throw(
      'CHANGELOG.md has no section for v0.2.0',
    );
  });

  it('are refused if a version has no changes', () => {
    expect(() => changesOf(CHANGELOG, 'v0.1.0', 'published')).to.throw('CHANGELOG.md has no changes for v0.1.0');
  });

  it('name the image, and have the changes', () => {
    const notes = releaseNotes('v0.1.1', 'example.com/manager:v0.1.1', 'sha256:1', '- a mistake');
    expect(notes).to.contain('`example.com/manager:v0.1.1`, with the digest `sha256:1`.');
    expect(notes).to.contain('\n- a mistake\n');
  });
});
