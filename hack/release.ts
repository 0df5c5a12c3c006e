// Writes the files of a release. Usage: node hack/release.ts --version v0.1.0 --image REPOSITORY --kubectl FILE [--out
// DIRECTORY] [--published] [--no-container-image]
// With --published, CHANGELOG.md must have a section for the version. Without --published, the files are those of a
// development build. With --no-container-image, the release lacks the image, whose build takes most of the time.
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { bundle } from './build/bundle.ts';
import { collectNotices } from './build/notices.ts';
import { baseComponents } from './image/base.ts';
import { buildImage } from './image/image.ts';
import { CHECKSUMS, checksumsOf } from './release/checksums.ts';
import { releaseComponents } from './release/components.ts';
import { changesOf, releaseNotes } from './release/notes.ts';
import { softwareBillOfMaterials } from './release/sbom.ts';
import { problemOf } from './release/version.ts';

const TEMPLATES = ['cluster-template-eks-fargate.yaml', 'cluster-template-fargate-profile.yaml'];

const root = fileURLToPath(new URL('../', import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

const { values } = parseArgs({
  options: {
    version: { type: 'string' },
    image: { type: 'string' },
    kubectl: { type: 'string', default: 'kubectl' },
    out: { type: 'string', default: join(root, 'out') },
    published: { type: 'boolean', default: false },
    'container-image': { type: 'boolean', default: true },
  },
  allowNegative: true,
});
const { version = '', image = '', kubectl, out, published } = values;
const manifest: unknown = JSON.parse(read('package.json'));
const fields = new Map<string, unknown>(Object.entries(manifest ?? {}));
const field = (name: string): string => String(fields.get(name));
const problem = problemOf(version, field('version'), read('metadata.yaml'));
if (problem !== undefined) throw new Error(problem);
if (image === '') throw new Error('--image is missing: the repository of the image, without a tag');

const tagged = `${image}:${version}`;
// If CHANGELOG.md has no section for the version, the program must fail before the build of the image, which takes
// minutes.
const changes = changesOf(read('CHANGELOG.md'), version, published ? 'published' : 'development');
const { inputs } = await bundle({ entry: 'cmd/manager/main.ts', outfile: 'dist/release/manager.mjs', version, root });
const built = values['container-image'] ? await buildImage({ root, version, repository: image }) : undefined;
const files: Readonly<Record<string, string | Buffer>> = {
  'infrastructure-components.yaml': releaseComponents({ root, kubectl, image: tagged }),
  'release-notes.md': releaseNotes({ version, image: tagged, digest: built?.digest, changes }),
  'sbom.cdx.json': softwareBillOfMaterials(
    { name: field('name'), version, licence: field('license') },
    collectNotices(root, inputs),
    baseComponents(),
  ),
  ...(built && { [`${field('name')}-${version}.oci.tar`]: built.archive }),
};

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
for (const [name, content] of Object.entries(files)) writeFileSync(join(out, name), content);
copyFileSync(join(root, 'metadata.yaml'), join(out, 'metadata.yaml'));
for (const name of TEMPLATES) copyFileSync(join(root, 'templates', name), join(out, name));
writeFileSync(join(out, CHECKSUMS), checksumsOf(out));
process.stdout.write(readFileSync(join(out, CHECKSUMS), 'utf8'));
