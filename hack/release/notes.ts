/**
 * Returns the changes of a version from the changelog (format: Keep a Changelog), without the heading of the version.
 * For a development build or a pre-release such as v0.1.0-rc.1 without a section of its own, returns the section
 * Unreleased.
 * @throws if the changelog has no section for the version, or the section is empty
 */
export function changesOf(changelog: string, version: string, build: 'published' | 'development'): string {
  const sections = changelog.split(/^## /m).slice(1);
  const find = (name: string): string | undefined => sections.find((section) => section.startsWith(`[${name}]`));
  const number = version.replace(/^v/, '');
  const isUnreleased = build === 'development' || version.includes('-');
  const section = find(number) ?? (isUnreleased ? find('Unreleased') : undefined);
  if (section === undefined)
    throw new Error(
      `CHANGELOG.md has no section for ${version}; before the tag is made, rename its section "## [Unreleased]" to "## [${number}] - <date>"`,
    );
  const changes = section.split('\n').slice(1).join('\n').trim();
  if (changes === '') throw new Error(`CHANGELOG.md has no changes for ${version}`);
  return changes;
}

/** Returns the release notes: the image with its tag and the digest of its index, how to verify the files, the changes. */
export const releaseNotes = (version: string, image: string, digest: string | undefined, changes: string): string =>
  `# ${version}

The image of the manager is \`${image}\`${digest === undefined ? '' : `, with the digest \`${digest}\``}.

The README describes the installation. \`sha256sum --check checksums.txt\` verifies the files of this release.

${changes}
`;
