// Writes the files of a release. Usage: node hack/release.ts --version v0.1.0 --image REPOSITORY --kubectl FILE [--out
// DIRECTORY] [--published] [--no-container-image]
// With --published, CHANGELOG.md must have a section for the version. Without --published, the files are those of a
// development build. With --no-container-image, the release lacks the image, whose build takes most of the time.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import manifest from '../package.json' with { type: 'json' };
import { releaseComponents } from './release/kustomize.ts';
import { changesOf, releaseNotes } from './release/notes.ts';
import { softwareBillOfMaterials } from './release/sbom.ts';
import { problemOf } from './release/version.ts';

const COPIES = [
  'metadata.yaml',
  'templates/cluster-template-eks-fargate-only.yaml',
  'templates/cluster-template-eks-fargate.yaml',
  'templates/cluster-template-fargate-profile.yaml',
];

const root = fileURLToPath(new URL('../', import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

const { values } = parseArgs({
  options: {
    version: { type: 'string', default: '' },
    image: { type: 'string', default: '' },
    kubectl: { type: 'string', default: 'kubectl' },
    out: { type: 'string', default: join(root, 'out') },
    published: { type: 'boolean', default: false },
    'container-image': { type: 'boolean', default: true },
  },
  allowNegative: true,
});
const { version, image, kubectl, out, published } = values;
const problem = problemOf(version, manifest.version, read('metadata.yaml'));
if (problem !== undefined) throw new Error(problem);
if (image === '') throw new Error('--image is missing: the repository of the image, without a tag');
const changes = changesOf(read('CHANGELOG.md'), version, published ? 'published' : 'development');

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const write = (name: string, content: string): void => writeFileSync(join(out, name), content);
const { name } = manifest;
const tagged = `${image}:${version}`;
write('infrastructure-components.yaml', releaseComponents(kubectl, root, tagged));
write('sbom.cdx.json', softwareBillOfMaterials(root, { name, version }));
for (const path of COPIES) copyFileSync(join(root, path), join(out, basename(path)));
write('release-notes.md', releaseNotes(version, tagged, buildImage(), changes));
const sums = readdirSync(out).toSorted().map(checksum).join('');
write('checksums.txt', sums);
process.stdout.write(sums);

/** Builds the image unless it is not wanted, and returns the digest of its index. */
function buildImage(): string | undefined {
  if (!values['container-image']) return undefined;
  const args = [image, join(out, `${name}-${version}.oci.tar`), version];
  return execFileSync(join(root, 'hack/image.sh'), args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
    .trim()
    .split(' ')[1];
}

/** Returns the line of a file in the format of sha256sum. */
function checksum(file: string): string {
  const content = readFileSync(join(out, file));
  return `${createHash('sha256').update(content).digest('hex')}  ${file}\n`;
}
