// Builds manager.mjs and capaf.mjs, each a program in one file, with their source maps and the license notices of the
// bundled packages, and capaf.cjs, from which hack/release/executables.sh builds executables.
// Usage: node hack/build.ts [--out DIRECTORY] [--version v0.1.0]
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import manifest from '../package.json' with { type: 'json' };
import { bundle } from './build/bundle.ts';
import { HASHBANG } from './build/node-flags.ts';
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
const capaf = { entry: 'cmd/capaf/main.ts', program: 'capaf', hashbang: '#!/usr/bin/env node', version, root };
const bundles = [
  await bundle({
    entry: 'cmd/manager/main.ts',
    outfile: join(out, 'manager.mjs'),
    program: 'The manager',
    hashbang: HASHBANG,
    version,
    root,
  }),
  await bundle({ ...capaf, outfile: join(out, 'capaf.mjs') }),
  await bundle({ ...capaf, outfile: join(out, 'capaf.cjs'), format: 'cjs' }),
];
const notices = collectNotices(root, [...new Set(bundles.flatMap(({ inputs }) => inputs))]);
writeFileSync(join(out, 'THIRD-PARTY-NOTICES.txt'), renderNotices(notices));
for (const { outfile, bytes } of bundles) console.log(`${outfile} ${version}: ${(bytes / 1e6).toFixed(1)} MB`);
console.log(`${notices.length} packages`);
