/**
 * Whether the files of a version are those of the published release, or those of a development build before the
 * release.
 */
export type BuildKind = 'published' | 'development';

/**
 * Returns the changes of a version from the changelog (format: Keep a Changelog), without the heading of the version.
 * For a development build or a pre-release such as v0.1.0-rc.1 without a section of its own, returns the section
 * Unreleased.
 * @throws if the changelog has no section for the version, or the section is empty
 */
export function changesOf(changelog: string, version: string, kind: BuildKind): string {
  const sections = changelog.split(/^## /m).slice(1);
  const find = (name: string): string | undefined => sections.find((section) => section.startsWith(`[${name}]`));
  const number = version.replace(/^v/, '');
  const isUnreleased = kind === 'development' || version.includes('-');
  const section = find(number) ?? (isUnreleased ? find('Unreleased') : undefined);
  if (section === undefined)
    throw new Error(
      `CHANGELOG.md has no section for ${version}; before the tag is made, rename its section "## [Unreleased]" to "## [${number}] - <date>"`,
    );
  const changes = section.split('\n').slice(1).join('\n').trim();
  if (changes === '') throw new Error(`CHANGELOG.md has no changes for ${version}`);
  return changes;
}

export interface ReleaseNotesRequest {
  readonly version: string;
  /** The image with its tag. */
  readonly image: string;
  /** The digest of the image index; undefined if it is not known. */
  readonly digest?: string | undefined;
  /** The changes of the version. */
  readonly changes: string;
}

/** Returns the release notes: the image, how to verify the files, and the changes. */
export function releaseNotes({ version, image, digest, changes }: ReleaseNotesRequest): string {
  const pinned = digest === undefined ? '' : `, with the digest \`${digest}\``;
  return `# ${version}

The image of the manager is \`${image}\`${pinned}.

The README describes the installation. \`sha256sum --check checksums.txt\` verifies the files of this release.

${changes}
`;
}
