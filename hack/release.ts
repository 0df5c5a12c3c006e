// Writes the files of a release. Usage:
//
//   node hack/release.ts --version v0.1.0 --image REPOSITORY --kubectl FILE [--out DIRECTORY] [--downloads URL]
//     [--published] [--no-binaries]
//
// URL is the future location of the release. With --published, CHANGELOG.md must have a section for the version.
// Without --published, the files are those of a development build. With --no-binaries, the release lacks the image and
// the executables of capaf, whose build takes most of the time.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import manifest from '../package.json' with { type: 'json' };
import { releaseComponents } from './release/kustomize.ts';
import { krewPlugin } from './release/krew.ts';
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
    downloads: { type: 'string', default: 'https://downloads.invalid' },
    binaries: { type: 'boolean', default: true },
  },
  allowNegative: true,
});
const { version, image, kubectl, out, published, binaries, downloads } = values;
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
write('release-notes.md', releaseNotes(version, tagged, binaries ? buildImage() : undefined, changes));
buildCommandLine();
const sums = readdirSync(out).toSorted().map(checksum).join('');
write('checksums.txt', sums);
process.stdout.write(sums);

/** Builds the image, and returns the digest of its index. */
function buildImage(): string | undefined {
  const args = [image, join(out, `${name}-${version}.oci.tar`), version];
  return execFileSync(join(root, 'hack/image.sh'), args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
    .trim()
    .split(' ')[1];
}

/** Writes capaf as one file for Node.js, as executables that contain Node.js, and as a kubectl plugin for krew. */
function buildCommandLine(): void {
  const build = join(root, '.tmp/release-build');
  const stdio = ['ignore', 'ignore', 'inherit'] as const;
  execFileSync(process.execPath, [join(root, 'hack/build.ts'), '--out', build, '--version', version], {
    stdio: [...stdio],
  });
  copyFileSync(join(build, 'capaf.mjs'), join(out, 'capaf.mjs'));
  if (!binaries) return;
  execFileSync(join(root, 'hack/release/executables.sh'), [build, out, version], { stdio: [...stdio] });
  const archives = ['amd64', 'arm64'].map((architecture) => {
    const file = `kubectl-fargate_${version}_linux_${architecture}.tar.gz`;
    return { architecture, file, sha256: sha256Of(file) };
  });
  write('fargate.krew.yaml', krewPlugin(version, downloads, archives));
}

/** Returns the line of a file in the format of sha256sum. */
function checksum(file: string): string {
  return `${sha256Of(file)}  ${file}\n`;
}

function sha256Of(file: string): string {
  return createHash('sha256')
    .update(readFileSync(join(out, file)))
    .digest('hex');
}
