import { dirname, relative, resolve, sep } from 'node:path';

const PROFILE = 'controllers/awsfargateprofile';
/** The folders of the profile controller and the lane, in an order in which each imports only from those before it. */
const STEPS = [
  'reasons',
  'goal',
  'model',
  'note.ts',
  // A report prints what the plan says. It knows nothing of how the plan comes about, of memory or of what AWS was asked.
  'report/condition-list.ts',
  'status',
  'report',
  'aws',
  'observe',
  'desired',
  'plan',
  'record.ts',
  'memory.ts',
  'lane.ts',
  'drain',
  'guards',
].map((step) => `${PROFILE}/${step}`);
const SHARED = ['api', 'pkg', 'controllers/shared'];

/**
 * The folders that each folder may import besides itself. Each key is a folder or a file; if several keys match a file,
 * the longest key counts.
 *
 * The order is cmd → controllers → pkg → api. Within pkg there are two orders: runtime → kube → async → env, and
 * fargate → cloud → async → env. Each arrow points to the imported folder. The AWS emulator in test/aws imports no code
 * of the manager, so that the emulator and the manager cannot have the same mistake.
 */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  api: [],
  'pkg/version.ts': [],
  'pkg/env': ['api'],
  'pkg/async': ['pkg/env'],
  'pkg/collections': ['pkg/env'],
  'pkg/network': ['pkg/env', 'pkg/async'],
  'pkg/cloud': ['api', 'pkg/env', 'pkg/async', 'pkg/collections', 'pkg/network', 'pkg/version.ts'],
  'pkg/fargate': ['api', 'pkg/env', 'pkg/cloud'],
  'pkg/kube': ['api', 'pkg/env', 'pkg/async', 'pkg/collections', 'pkg/network', 'pkg/version.ts'],
  'pkg/runtime': ['api', 'pkg/env', 'pkg/async', 'pkg/collections', 'pkg/kube'],
  pkg: [],
  'controllers/shared': ['api', 'pkg'],
  'controllers/identities': SHARED,
  'controllers/clusterteardown': SHARED,
  'controllers/crdkeeper': SHARED,
  'controllers/instancegroups': SHARED,
  ...Object.fromEntries(STEPS.map((step, index) => [step, [...SHARED, ...STEPS.slice(0, index)]])),
  [PROFILE]: [...SHARED, 'controllers/identities', ...STEPS],
  controllers: SHARED,
  cmd: ['api', 'pkg', 'controllers'],
  hack: ['api', 'pkg', 'controllers', 'cmd'],
  'test/aws': ['test/support'],
  'test/support': [],
  test: ['api', 'pkg', 'controllers', 'cmd', 'hack', 'test'],
};

/** Packages whose files other packages reach through `index.ts` only, and in tests also through the folder `testing`. */
const FRONT_DOORS: readonly string[] = ['pkg/cloud'];

const LAYERS = Object.keys(MAY_IMPORT).toSorted((a, b) => b.length - a.length);

const isWithin = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);
const layerOf = (path: string): string | undefined => LAYERS.find((layer) => isWithin(path, layer));
/**
 * Whether a file is a test, or a helper in a folder named `testing`. Such files may import the folder `test`; those in
 * `controllers` may also import from all controllers.
 */
const isTest = (path: string): boolean => path.endsWith('.test.ts') || path.includes('/testing/');

/**
 * Returns why the file `importer` may not import `specifier`; `undefined` if it may. `importer` is relative to the root
 * of the repository, with forward slashes. Imports of packages are always allowed.
 */
export function wrongArrow(importer: string, specifier: unknown): string | undefined {
  if (typeof specifier !== 'string' || !specifier.startsWith('.')) return undefined;
  const imported = relative(sep, resolve(sep, dirname(importer), specifier)).replaceAll(sep, '/');
  const from = layerOf(importer);
  const to = layerOf(imported);
  if (from === undefined || to === undefined || from === to) return undefined;
  if (from === 'pkg' || to === 'pkg') {
    const unknown = from === 'pkg' ? importer : imported;
    return `${unknown.split('/').slice(0, 2).join('/')} has no row in hack/lint/arrows.ts yet: say what it may import`;
  }
  const ofTests = ['test', ...(from.startsWith('controllers') ? ['controllers'] : [])];
  const allowed = [...(MAY_IMPORT[from] ?? []), ...(isTest(importer) && from !== 'test/aws' ? ofTests : [])];
  if (!allowed.some((folder) => isWithin(imported, folder)))
    return `${from} may not import ${to}: imports point one way (hack/lint/arrows.ts)`;
  const isTesting = isTest(importer) || isWithin(importer, 'test');
  const room = FRONT_DOORS.find((folder) => isWithin(imported, folder));
  const isDoor = imported === `${room}/index.ts` || (isTesting && imported.startsWith(`${room}/testing/`));
  return room === undefined || isDoor ? undefined : `${imported} is inside ${room}: import ${room}/index.ts`;
}
