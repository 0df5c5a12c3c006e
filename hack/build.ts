// Builds manager.mjs, the manager in one file, with its source map and the licence notices of the bundled packages.
// Usage: node hack/build.ts [--out DIRECTORY] [--version v0.1.0]
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import manifest from '../package.json' with { type: 'json' };
import { bundle } from './build/bundle.ts';
import { collectNotices, renderNotices } from './build/notices.ts';
import { versionOf } from './build/version.ts';

const root = fileURLToPath(new URL('../', import.meta.url));
const { values } = parseArgs({
  options: {
    out: { type: 'string', default: join(root, 'dist') },
    version: { type: 'string', default: versionOf(root, manifest.version) },
  },
});
const { out, version } = values;
const outfile = join(out, 'manager.mjs');
const { inputs, bytes } = await bundle({ entry: 'cmd/manager/main.ts', outfile, version, root });
const notices = collectNotices(root, inputs);
writeFileSync(join(out, 'THIRD-PARTY-NOTICES.txt'), renderNotices(notices));
console.log(`${outfile} ${version}: ${(bytes / 1e6).toFixed(1)} MB, ${notices.length} packages`);
