/** Matches the versions that clusterctl accepts: https://semver.org with a leading v. */
const VERSION = /^v(\d+)\.(\d+)\.(\d+)(-[0-9A-Za-z.-]+)?$/;

/**
 * Explains why a version cannot be released; returns undefined if it can.
 * @param packageVersion the version in package.json
 * @param metadata the text of metadata.yaml
 */
export function problemOf(version: string, packageVersion: string, metadata: string): string | undefined {
  const [, major, minor] = VERSION.exec(version) ?? [];
  if (major === undefined || minor === undefined) return `"${version}" is not a version like v0.1.0`;
  if (version.split('-')[0] !== `v${packageVersion}`)
    return `package.json has version ${packageVersion}, not ${version}`;
  if (!new RegExp(`major: ${major}\\s+minor: ${minor}\\s`).test(metadata))
    return `metadata.yaml has no series ${major}.${minor}: clusterctl would refuse ${version}`;
  return undefined;
}
