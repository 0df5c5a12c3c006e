import { readFileSync } from 'node:fs';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { builtinModules } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type BuildOptions, type Plugin } from 'esbuild';

export interface BundleRequest {
  readonly entry: string;
  /** The subject of the error message for an old Node.js, e.g. `The manager`. */
  readonly program: string;
  /** The first line of the file, which makes it an executable program. */
  readonly hashbang: string;
  /** An executable that contains Node.js needs `cjs`, because it cannot run ES modules. The default is `esm`. */
  readonly format?: 'esm' | 'cjs';
  readonly outfile: string;
  /** The version of the build, which replaces `__VERSION__` of pkg/version.ts in the bundle. */
  readonly version: string;
  /** The directory of the repository. `entry`, `outfile`, and the paths in the result are relative to it. */
  readonly root: string;
}

export interface Bundle {
  readonly outfile: string;
  /** The paths, relative to `root`, of all files whose code is in the bundle. */
  readonly inputs: readonly string[];
  readonly bytes: number;
}

/**
 * Code at the start of a bundle of ES modules. It defines require(), which ES modules do not have, for CommonJS packages
 * in the bundle that load modules of Node.js. It refuses an old Node.js, which would fail inside a library with an error
 * that does not name the cause. In a clone, the error names the Node.js that `make` has installed.
 */
const bannerOf = ({ program, hashbang }: BundleRequest): string => `${hashbang}
import { createRequire as __createRequire } from 'node:module';
const require = __createRequire(import.meta.url);
const [__major, __minor] = process.versions.node.split('.').map(Number);
if (__major < 22 || (__major === 22 && __minor < 19)) {
  const installed = require('node:url').fileURLToPath(new URL('../node_modules/.bin', import.meta.url));
  const remedy = require('node:fs').existsSync(installed + '/node')
    ? ' "make" has installed one: export PATH=' + "'" + installed.replaceAll("'", "'\\\\''") + "'" + ':"$PATH"'
    : '';
  console.error('${program} needs Node.js 22.19 or newer; this is ' + process.version + '.' + remedy);
  process.exit(1);
}`;

/** The modules of @kubernetes/client-node have no side effects, although its package.json does not say so. */
const WITHOUT_SIDE_EFFECTS = /[\\/]node_modules[\\/]@kubernetes[\\/]client-node[\\/]/;

/**
 * Drops unused modules of @kubernetes/client-node from the bundle. The package has a class for each of 757 Kubernetes
 * types. The manager needs none of them, and evaluating them takes 14 MiB for the life of the process.
 */
const dropUnusedModels: Plugin = {
  name: 'drop unused modules of client-node',
  setup(building) {
    building.onResolve({ filter: /^@kubernetes\/client-node/ }, async ({ path, pluginData, kind, ...from }) => {
      // The plugin data marks imports that this plugin itself resolves with building.resolve(). Without the mark, the
      // plugin would call itself forever.
      if (pluginData === dropUnusedModels || kind !== 'import-statement') return undefined;
      const found = await building.resolve(path, { ...from, kind, pluginData: dropUnusedModels });
      return WITHOUT_SIDE_EFFECTS.test(found.path) ? { ...found, sideEffects: false } : found;
    });
    // Modules of @kubernetes/client-node import each other by file name. esbuild would list a folder of 2,742 files for
    // each import, which takes ten seconds of processor time in total. This plugin joins the path of the folder and the
    // file name instead, with the same result.
    building.onResolve({ filter: /^\.\.?\/.*\.js$/ }, ({ path, importer, kind, resolveDir }) => {
      if (kind !== 'import-statement' || !WITHOUT_SIDE_EFFECTS.test(importer)) return undefined;
      return { path: join(resolveDir, path), sideEffects: false };
    });
  },
};

const UNDICI_CLIENTS = fileURLToPath(new URL('undici.mjs', import.meta.url));

/**
 * Replaces undici by hack/build/undici.mjs, which exports only the clients that the manager uses, and a `fetch` that
 * throws. An import of another name fails the build.
 */
const dropUnusedUndici: Plugin = {
  name: 'drop unused parts of undici',
  setup(building) {
    building.onResolve({ filter: /^undici$/ }, () => ({ path: UNDICI_CLIENTS }));
  },
};

const NODE_MODULE = new RegExp(`^(node:)?(${builtinModules.join('|')})$`);

/**
 * Loads the modules of Node.js with `process.getBuiltinModule` instead of `import`. Node.js loads some of its own code
 * only when a program reads a certain property of a module. An `import` reads all properties, so an `import` of
 * `node:http` loads Node.js's own copy of undici, which the manager never uses. Without this plugin, the start of the
 * manager takes 20 ms more processor time and 2.4 MiB more memory.
 */
const readNodeModulesLazily: Plugin = {
  name: 'read properties of the modules of Node.js lazily',
  setup(building) {
    building.onResolve({ filter: NODE_MODULE }, ({ path, kind }) =>
      kind === 'import-statement' ? { path, namespace: 'node-module', sideEffects: false } : undefined,
    );
    building.onLoad({ filter: /.*/, namespace: 'node-module' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
      loader: 'js',
    }));
  },
};

const READ_TEXT = /readFileSync\(\s*new URL\('([^']+)', import\.meta\.url\),\s*'utf8',?\s*\)/g;

/** Inserts into the bundle the texts that capaf's doctor/permissions.ts reads from files of the repository. */
const inlineTexts: Plugin = {
  name: 'put texts into the bundle',
  setup(building) {
    building.onLoad({ filter: /[\\/]doctor[\\/]permissions\.ts$/ }, async ({ path }) => {
      const textOf = (file: string): string => JSON.stringify(readFileSync(join(dirname(path), file), 'utf8'));
      const contents = (await readFile(path, 'utf8')).replaceAll(READ_TEXT, (_, file: string) => textOf(file));
      return { contents, loader: 'ts' };
    });
  },
};

const options: BuildOptions = {
  bundle: true,
  platform: 'node',
  // The oldest Node.js that `engines` of package.json allows.
  target: 'node22.19',
  // Tree shaking of the AWS SDK and fp-ts needs their ES modules; by default esbuild prefers CommonJS for Node.
  mainFields: ['module', 'main'],
  // The sources import the CommonJS builds of fp-ts and io-ts, which Node.js can run without a bundler. The bundle
  // contains only their ES modules, because the types of two builds would not be compatible at run time.
  alias: { 'fp-ts/lib': 'fp-ts/es6', 'io-ts/lib': 'io-ts/es6' },
  // Removes indentation and comments, which are a third of the bundle, because Node.js keeps the text of the bundle in
  // memory. Names stay, so that a stack trace in a log is readable without the source map.
  minifyWhitespace: true,
  // With a single non-ASCII character, Node.js would store the text with two bytes per character, which takes 3 MiB
  // more.
  charset: 'ascii',
  lineLimit: 120,
  sourcemap: 'linked',
  legalComments: 'none',
  logLevel: 'warning',
  plugins: [dropUnusedModels, dropUnusedUndici, readNodeModulesLazily, inlineTexts],
};

/**
 * Writes the bundle to `outfile`, and its source map to `outfile`.map. If a source does not build, throws esbuild's own
 * error, which esbuild has already printed.
 */
export async function bundle(request: BundleRequest): Promise<Bundle> {
  const { entry, outfile, version, root, format = 'esm' } = request;
  const { metafile, outputFiles } = await build({
    ...options,
    format,
    banner: { js: format === 'esm' ? bannerOf(request) : '' },
    absWorkingDir: root,
    entryPoints: [entry],
    outfile,
    define: { __VERSION__: JSON.stringify(version) },
    metafile: true,
    write: false,
  });
  for (const { path, text } of outputFiles) {
    await mkdir(dirname(path), { recursive: true });
    // A rename is atomic: a program that starts during the build finds either the complete old file or the complete new
    // file.
    const temporary = `${path}.${process.pid}`;
    await writeFile(temporary, text, { mode: path.endsWith('.map') ? 0o644 : 0o755 });
    await rename(temporary, path);
  }
  const written = Object.values(metafile.outputs).find(({ entryPoint }) => entryPoint !== undefined);
  if (written === undefined) throw new Error(`esbuild wrote no output for ${entry}`);
  const inputs = Object.entries(written.inputs).flatMap(([path, { bytesInOutput }]) =>
    bytesInOutput > 0 ? [path] : [],
  );
  return { outfile, inputs, bytes: written.bytes };
}
