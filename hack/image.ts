// Writes the image of the manager as an OCI archive: node hack/image.ts --image REPOSITORY --out FILE [--version
// v0.1.0]
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { versionOf } from './build/version.ts';
import { buildImage } from './image/image.ts';

const root = fileURLToPath(new URL('../', import.meta.url));
const { values } = parseArgs({
  options: { version: { type: 'string' }, image: { type: 'string' }, out: { type: 'string' } },
});
const { image = '', out = '' } = values;
if (image === '' || out === '') throw new Error('--image and --out are needed: the repository, and the file to write');

const started = performance.now();
const manifest: unknown = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const packageVersion = new Map<string, unknown>(Object.entries(manifest ?? {})).get('version');
// The version of a development build has a "+" before the commit. The tag of an image cannot contain a "+".
const version = values.version ?? versionOf(root, String(packageVersion)).replace('+', '-');
const { archive, digest } = await buildImage({ root, version, repository: image });
mkdirSync(dirname(out), { recursive: true });
writeFileSync(out, archive);
const seconds = ((performance.now() - started) / 1000).toFixed(0);
console.log(`${image}:${version} ${digest}\n${out}: ${(archive.length / 1e6).toFixed(0)} MB, ${seconds} s`);
