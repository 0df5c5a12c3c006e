import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type BuildOptions, type Plugin } from 'esbuild';

export interface BundleRequest {
  readonly entry: string;
  readonly outfile: string;
  /** What `VERSION` of pkg/version.ts becomes. */
  readonly version: string;
  /** The directory against which the paths of the answer are relative. */
  readonly root: string;
}

export interface Bundle {
  /** Every file whose code is in the bundle, relative to `root`. */
  readonly inputs: readonly string[];
  readonly bytes: number;
}

/** An older Node would fail somewhere inside a library, with words that name anything but the cause. */
const refuseOldNode = `const [__major, __minor] = process.versions.node.split('.').map(Number);
if (__major < 22 || (__major === 22 && __minor < 19)) {
  console.error('The manager needs Node.js 22.19 or newer; this is ' + process.version + '.');
  process.exit(1);
}`;

/** CommonJS packages in the bundle call require() for Node's own modules, which an ES module does not have. */
const makeRequire = `import { createRequire as __createRequire } from 'node:module';
const require = __createRequire(import.meta.url);`;

/** Packages whose modules only declare, though they do not say so: what is not used of them can be left out. */
const DECLARING = /[\\/]node_modules[\\/]@kubernetes[\\/]client-node[\\/]/;

/**
 * client-node comes with a class for each kind of Kubernetes. KubeConfig needs none of the 758, and evaluating them costs
 * 14 MiB for as long as the manager runs.
 */
const leaveOutUnused: Plugin = {
  name: 'leave out what is not used',
  setup(building) {
    building.onResolve({ filter: /^@kubernetes\/client-node/ }, async ({ path, pluginData, kind, ...from }) => {
      // This very question, asked below.
      if (pluginData === leaveOutUnused || kind !== 'import-statement') return undefined;
      const found = await building.resolve(path, { ...from, kind, pluginData: leaveOutUnused });
      return DECLARING.test(found.path) ? { ...found, sideEffects: false } : found;
    });
    // Its own modules name each other by their files. To ask esbuild for each of them would have it list a folder of 758
    // each time: ten seconds of processor time.
    building.onResolve({ filter: /^\.\.?\/.*\.js$/ }, ({ path, importer, kind, resolveDir }) => {
      if (kind !== 'import-statement' || !DECLARING.test(importer)) return undefined;
      return { path: join(resolveDir, path), sideEffects: false };
    });
  },
};

const CLIENTS_OF_UNDICI = fileURLToPath(new URL('undici.mjs', import.meta.url));

/** A build that asks it for more fails, with the name that it does not export. */
const leaveOutFetch: Plugin = {
  name: 'leave out of undici what is not used',
  setup(building) {
    building.onResolve({ filter: /^undici$/ }, () => ({ path: CLIENTS_OF_UNDICI }));
  },
};

const options: BuildOptions = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  // The oldest Node that package.json's `engines` lets in.
  target: 'node22.19',
  // The AWS SDK and fp-ts can be shaken only in their ES modules; esbuild's own order for Node prefers CommonJS.
  mainFields: ['module', 'main'],
  // The sources name fp-ts's CommonJS build, which Node can run unbundled; io-ts's ES modules import it too. One copy of
  // one build, or their types would meet at run time as strangers.
  alias: { 'fp-ts/lib': 'fp-ts/es6', 'io-ts/lib': 'io-ts/es6' },
  banner: { js: `${makeRequire}\n${refuseOldNode}` },
  // Names stay as they are: a stack trace in somebody's log must be readable without the map. Node.js keeps the text in
  // memory for as long as the manager runs: without indentation and comments it is a third shorter.
  minifyWhitespace: true,
  charset: 'ascii',
  lineLimit: 120,
  sourcemap: 'linked',
  legalComments: 'none',
  logLevel: 'warning',
  metafile: true,
  plugins: [leaveOutUnused, leaveOutFetch],
};

/** One character beyond ASCII would make Node hold the whole text with two bytes for each: 3 MiB. esbuild escapes them all. */
function mustBeAscii(code: string): string {
  const at = code.search(/[^\0-\x7f]/);
  if (at !== -1) throw new Error(`a character beyond ASCII in the bundle: ${code.slice(at - 40, at + 40)}`);
  return code;
}

/** Writes `outfile` and `outfile`.map. Throws esbuild's own error, already printed, when a source does not build. */
export async function bundle({ entry, outfile, version, root }: BundleRequest): Promise<Bundle> {
  const { metafile, outputFiles } = await build({
    ...options,
    absWorkingDir: root,
    entryPoints: [entry],
    outfile,
    define: { __VERSION__: JSON.stringify(version) },
    metafile: true,
    write: false,
  });
  for (const { path, text } of outputFiles) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, path.endsWith('.map') ? text : mustBeAscii(text));
  }
  const written = Object.values(metafile.outputs).find(({ entryPoint }) => entryPoint !== undefined);
  if (written === undefined) throw new Error(`esbuild wrote no output for ${entry}`);
  const inputs = Object.entries(written.inputs).flatMap(([path, { bytesInOutput }]) =>
    bytesInOutput > 0 ? [path] : [],
  );
  return { inputs, bytes: written.bytes };
}
