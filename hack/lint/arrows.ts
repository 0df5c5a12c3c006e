import { dirname, relative, resolve, sep } from 'node:path';

const PROFILE_CONTROLLER = 'controllers/awsfargateprofile';
/**
 * The folders of controllers/awsfargateprofile, in an order in which each folder imports only from the folders before
 * it.
 */
const STEPS = ['reasons', 'model', 'goal', 'decide', 'aws', 'retry', 'status', 'guards'].map(
  (step) => `${PROFILE_CONTROLLER}/${step}`,
);

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
  'controllers/identities': ['api', 'pkg', 'controllers/shared'],
  'controllers/clusterteardown': ['api', 'pkg', 'controllers/shared'],
  'controllers/crdkeeper': ['api', 'pkg', 'controllers/shared'],
  'controllers/instancegroups': ['api', 'pkg', 'controllers/shared'],
  ...Object.fromEntries(
    STEPS.map((step, index) => [step, ['api', 'pkg', 'controllers/shared', ...STEPS.slice(0, index)]]),
  ),
  [`${PROFILE_CONTROLLER}/priority`]: ['api', 'pkg', 'controllers/shared'],
  [PROFILE_CONTROLLER]: [
    'api',
    'pkg',
    'controllers/shared',
    'controllers/identities',
    `${PROFILE_CONTROLLER}/priority`,
    ...STEPS,
  ],
  controllers: ['api', 'pkg', 'controllers/shared'],
  cmd: ['api', 'pkg', 'controllers'],
  hack: ['api', 'pkg', 'controllers', 'cmd'],
  'test/aws': ['test/support'],
  'test/support': [],
  test: ['api', 'pkg', 'controllers', 'cmd', 'hack', 'test'],
};

const LAYERS = Object.keys(MAY_IMPORT).toSorted((a, b) => b.length - a.length);

const isWithin = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);
const layerOf = (path: string): string | undefined => LAYERS.find((layer) => isWithin(path, layer));
/**
 * Whether a file is a test, or a helper in a folder named `testing`. Such files may import the folder `test`; those in
 * `controllers` may also import from all controllers.
 */
const isTest = (path: string): boolean => path.endsWith('.test.ts') || path.includes('/testing/');

const sharedHelpers = (from: string): readonly string[] => (from.startsWith('controllers') ? ['controllers'] : []);

/**
 * Returns why the file `importer` may not import `specifier`; `undefined` if it may. `importer` is relative to the root
 * of the repository, with forward slashes. Imports of packages are always allowed.
 */
export function wrongArrow(importer: string, specifier: string): string | undefined {
  if (!specifier.startsWith('.')) return undefined;
  const imported = relative(sep, resolve(sep, dirname(importer), specifier)).replaceAll(sep, '/');
  const from = layerOf(importer);
  const to = layerOf(imported);
  if (from === undefined || to === undefined || from === to) return undefined;
  if (from === 'pkg' || to === 'pkg') {
    const unknown = from === 'pkg' ? importer : imported;
    return `${unknown.split('/').slice(0, 2).join('/')} has no row in hack/lint/arrows.ts yet: say what it may import`;
  }
  const allowed = MAY_IMPORT[from] ?? [];
  const reachable = isTest(importer) && from !== 'test/aws' ? [...allowed, 'test', ...sharedHelpers(from)] : allowed;
  if (reachable.some((folder) => isWithin(imported, folder))) return undefined;
  return `${from} may not import ${to}: imports point one way (hack/lint/arrows.ts)`;
}

/** The part of a syntax node that this lint rule reads. Every kind of import has the imported path in `source`. */
interface ImportNode {
  readonly source?: { readonly value?: unknown } | null;
}

interface RuleContext {
  readonly cwd: string;
  readonly filename: string;
  report(problem: { readonly node: ImportNode; readonly message: string }): void;
}

const arrows = {
  create(context: RuleContext) {
    const importer = relative(context.cwd, context.filename).replaceAll(sep, '/');
    const check = (node: ImportNode): void => {
      const specifier = node.source?.value;
      if (typeof specifier !== 'string') return;
      const message = wrongArrow(importer, specifier);
      if (message !== undefined) context.report({ node, message });
    };
    return {
      ImportDeclaration: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
      ImportExpression: check,
      TSImportType: check,
    };
  },
};

/** A plugin of oxlint with the rule `layers/arrows`. */
export default { meta: { name: 'layers' }, rules: { arrows } };
