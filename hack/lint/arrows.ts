import { dirname, relative, resolve, sep } from 'node:path';

const PROFILE = 'controllers/awsfargateprofile';
/** The folders and files of the profile controller, in an order in which each imports only from those before it. */
const STEPS = [
  'reasons',
  'goal',
  'model',
  // Reports depend only on the plan, not on how the plan is made, on the record's update, on the retry state, or on AWS calls.
  'report',
  'overlap',
  'managed-elsewhere.ts',
  'record-after-read.ts',
  'aws',
  'observe',
  'desired',
  'plan',
  'record-around-changes.ts',
  'retry-state.ts',
  'cluster-queue.ts',
  'drain',
  'guards',
].map((step) => `${PROFILE}/${step}`);
const SHARED = ['api', 'pkg', 'controllers/shared'];

const RUNTIME = 'pkg/controller-runtime';
/** The folders of pkg/controller-runtime in levels. Each imports only from folders of its own and earlier levels. */
const RUNTIME_LEVELS = [
  ['async', 'collections', 'env', 'json', 'log', 'network', 'schema', 'text'],
  ['cache', 'client', 'events', 'kubeconfig'],
  ['controller', 'election', 'http', 'manager', 'metrics', 'queue'],
].map((level) => level.map((folder) => `${RUNTIME}/${folder}`));

/**
 * The folders that each folder may import, in addition to itself. Each key is a folder or a file; if several keys match
 * a file, the longest key counts.
 *
 * The order is cmd → controllers → pkg → api → controller-runtime, and within pkg fargate → cloud. Each arrow points to
 * the imported folder. Everything may use controller-runtime, which does not use the rest of this repository. The
 * exception is the AWS emulator in test/aws: it does not import code of the manager, so that the emulator and the
 * manager cannot share a mistake.
 */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  api: ['schema', 'json', 'text'].map((folder) => `${RUNTIME}/${folder}`),
  'pkg/version.ts': [],
  ...Object.fromEntries(
    RUNTIME_LEVELS.flatMap((level, index) =>
      level.map((folder) => [folder, RUNTIME_LEVELS.slice(0, index + 1).flat()]),
    ),
  ),
  [RUNTIME]: [RUNTIME],
  'pkg/cloud': ['api', RUNTIME, 'pkg/version.ts'],
  'pkg/fargate': ['api', RUNTIME, 'pkg/cloud'],
  pkg: [],
  'controllers/shared': ['api', 'pkg'],
  'controllers/identities': SHARED,
  'controllers/clusterteardown': SHARED,
  'controllers/crdkeeper': SHARED,
  'controllers/instancegroups': SHARED,
  ...Object.fromEntries(STEPS.map((step, index) => [step, [...SHARED, ...STEPS.slice(0, index)]])),
  // The plan says which events there are, so that they do not depend on what was read from AWS.
  ...Object.fromEntries(
    ['events.ts', 'step-events.ts'].map((file) => [
      `${PROFILE}/report/${file}`,
      [
        ...SHARED,
        ...['reasons', 'report', 'model/change.ts', 'model/profile-status.ts', 'model/result.ts'].map(
          (path) => `${PROFILE}/${path}`,
        ),
      ],
    ]),
  ),
  [PROFILE]: [...SHARED, 'controllers/identities', ...STEPS],
  controllers: SHARED,
  cmd: ['api', 'pkg', 'controllers'],
  hack: ['api', 'pkg', 'controllers', 'cmd'],
  'test/aws': ['test/support'],
  'test/support': [],
  test: ['api', 'pkg', 'controllers', 'cmd', 'hack', 'test'],
  tools: ['pkg', 'controllers', 'test'],
};

/** Packages from which other packages may import only `index.ts`, and in tests also files in the folder `testing`. */
const FRONT_DOORS: readonly string[] = ['pkg/cloud'];

const LAYERS = Object.keys(MAY_IMPORT).toSorted((a, b) => b.length - a.length);

const isWithin = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);
const layerOf = (path: string): string | undefined => LAYERS.find((layer) => isWithin(path, layer));
/**
 * Reports whether a file is a test, or a helper in a folder named `testing`. Such files may import the folder `test`;
 * those in `controllers` may also import from all controllers.
 */
const isTest = (path: string): boolean => path.endsWith('.test.ts') || path.includes('/testing/');

/**
 * Returns the path of an imported file, or of an imported folder of pkg/controller-runtime; undefined for other
 * packages.
 */
function pathOf(importer: string, specifier: string): string | undefined {
  if (specifier.startsWith('.')) return relative(sep, resolve(sep, dirname(importer), specifier)).replaceAll(sep, '/');
  return isWithin(specifier, 'controller-runtime') ? `pkg/${specifier}` : undefined;
}

/**
 * Returns why the file `importer` may not import `specifier`; `undefined` if it may. `importer` is relative to the root
 * of the repository, with forward slashes. Imports of packages other than controller-runtime are always allowed.
 */
export function wrongArrow(importer: string, specifier: unknown): string | undefined {
  if (typeof specifier !== 'string') return undefined;
  const imported = pathOf(importer, specifier);
  if (imported === undefined) return undefined;
  const isFile = specifier.startsWith('.');
  if (isFile && isWithin(importer, RUNTIME) && !isWithin(imported, RUNTIME))
    return `${RUNTIME} may not import ${imported}: the package works without this repository`;
  if (isFile && !isWithin(importer, RUNTIME) && isWithin(imported, RUNTIME))
    return `${imported} is inside a package: import controller-runtime/<subject>`;
  // The example imports the package by its name, as a program outside of the package does.
  if (!isFile && isWithin(importer, RUNTIME) && !isWithin(importer, `${RUNTIME}/example`))
    return `${importer} is inside controller-runtime: import the file`;
  const from = layerOf(importer);
  const to = layerOf(imported);
  if (from === undefined || to === undefined || from === to) return undefined;
  if (from === 'pkg' || to === 'pkg') {
    const unknown = from === 'pkg' ? importer : imported;
    return `${unknown.split('/').slice(0, 2).join('/')} has no row in hack/lint/arrows.ts yet: say what it may import`;
  }
  const isTesting = isTest(importer) || isWithin(importer, 'test');
  const ofTests = ['test', RUNTIME, ...(from.startsWith('controllers') ? ['controllers'] : [])];
  const allowed = [...(MAY_IMPORT[from] ?? []), ...(isTest(importer) && from !== 'test/aws' ? ofTests : [])];
  if (!allowed.some((folder) => isWithin(imported, folder)))
    return `${from} may not import ${to}: imports point one way (hack/lint/arrows.ts)`;
  if (isWithin(imported, `${RUNTIME}/testing`) && !isTesting && !isWithin(importer, RUNTIME))
    return `${from} may not import ${specifier}: it is for tests`;
  const room = FRONT_DOORS.find((folder) => isWithin(imported, folder));
  const isDoor = imported === `${room}/index.ts` || (isTesting && imported.startsWith(`${room}/testing/`));
  return room === undefined || isDoor ? undefined : `${imported} is inside ${room}: import ${room}/index.ts`;
}
