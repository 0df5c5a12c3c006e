/**
 * Returns the changes of a version from the changelog (format: Keep a Changelog), without the heading of the version.
 * If the changelog has no heading for the version, returns the unreleased changes.
 * @throws if there are no changes
 */
export function changesOf(changelog: string, version: string): string {
  const sections = changelog.split(/^## /m).slice(1);
  const find = (name: string): string | undefined => sections.find((section) => section.startsWith(`[${name}]`));
  const section = find(version.replace(/^v/, '')) ?? find('Unreleased') ?? '';
  const changes = section.split('\n').slice(1).join('\n').trim();
  if (changes === '') throw new Error(`CHANGELOG.md has no changes for ${version}`);
  return changes;
}

/**
 * Returns the release notes: the image, how to verify the files, and the changes.
 * @param digest the digest of the image index, if it is known
 */
export function releaseNotes(changelog: string, version: string, image: string, digest?: string): string {
  const pinned = digest === undefined ? '' : `, with the digest \`${digest}\``;
  return `# ${version}

The image of the manager is \`${image}\`${pinned}.

The README describes the installation. \`sha256sum --check checksums.txt\` verifies the files of this release.

${changesOf(changelog, version)}
`;
}
