import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/** The largest output of npm that this program accepts, in bytes. The output usually has about 150 kB. */
const MAX_OUTPUT_BYTES = 10e6;

/** Returns the Debian packages of the image as components of CycloneDX: https://cyclonedx.org/docs/1.5/json/#components */
function debianComponents(root: string): readonly object[] {
  const lines = readFileSync(join(root, 'hack/debian-packages.sha256'), 'utf8').trim().split('\n');
  return lines.map((line) => {
    const [content = '', path = ''] = line.split('  ');
    const [name = '', version = '', architecture = ''] = basename(path, '.deb').split('_');
    const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}&distro=debian-13`;
    return { type: 'library', 'bom-ref': purl, name, version, purl, hashes: [{ alg: 'SHA-256', content }] };
  });
}

/**
 * Returns the software bill of materials of a version in the format CycloneDX: the npm packages of package-lock.json
 * without those for development, and the Debian packages of the image. It has no serial number, no time, and no version
 * of npm, so the same sources give the same bytes.
 */
export function softwareBillOfMaterials(root: string, product: { readonly name: string; readonly version: string }) {
  const edit = (key: string, value: unknown): unknown => {
    if (key === 'serialNumber' || key === 'timestamp' || key === 'tools') return undefined;
    // The package controller-runtime of this repository is in no registry. A registry may have a different package of
    // that name.
    if (key === 'purl' && typeof value === 'string' && value.startsWith('pkg:npm/controller-runtime@'))
      return undefined;
    // npm names the product after its folder.
    if (key === 'component' && typeof value === 'object') return { ...value, ...product };
    if (key !== 'components' || !Array.isArray(value)) return value;
    const packages: readonly unknown[] = value;
    return [...packages, ...debianComponents(root)];
  };
  const args = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--omit=dev', '--package-lock-only'];
  const env = { ...process.env, PATH: process.env['MACHINE_PATH'] ?? process.env['PATH'] };
  const bom = execFileSync('npm', args, { cwd: root, env, encoding: 'utf8', maxBuffer: MAX_OUTPUT_BYTES });
  return `${JSON.stringify(JSON.parse(bom, edit), null, 2)}\n`;
}
