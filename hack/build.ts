// Builds dist/manager.mjs, the manager in one file, with its source map and the licence notices of the bundled
// packages.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundle } from './build/bundle.ts';
import { collectNotices, renderNotices } from './build/notices.ts';
import { versionOf } from './build/version.ts';

const root = fileURLToPath(new URL('../', import.meta.url));
const manifest: unknown = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
if (
  typeof manifest !== 'object' ||
  manifest === null ||
  !('version' in manifest) ||
  typeof manifest.version !== 'string'
) {
  throw new Error('package.json names no version');
}

const version = versionOf(root, manifest.version);
mkdirSync(join(root, 'dist'), { recursive: true });
const { inputs, bytes } = await bundle({ entry: 'cmd/manager/main.ts', outfile: 'dist/manager.mjs', version, root });
const notices = collectNotices(root, inputs);
writeFileSync(join(root, 'dist/THIRD-PARTY-NOTICES.txt'), renderNotices(notices));
console.log(`dist/manager.mjs ${version}: ${(bytes / 1e6).toFixed(1)} MB, ${notices.length} packages`);
