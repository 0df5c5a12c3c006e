import { dirname, relative, resolve, sep } from 'node:path';

/**
 * Which folders a folder may import besides itself; the longest row that a path starts with is its layer.
 *
 * cmd → controllers → pkg → api, and within pkg env ← kube ← runtime and env ← cloud ← fargate. The emulator in test/aws
 * knows nothing of what it tests, so that both sides cannot share a mistake.
 */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  api: [],
  'pkg/version.ts': [],
  'pkg/env': ['api'],
  'pkg/cloud': ['api', 'pkg/env', 'pkg/version.ts'],
  'pkg/fargate': ['api', 'pkg/env', 'pkg/cloud'],
  'pkg/kube': ['api', 'pkg/env', 'pkg/version.ts'],
  'pkg/runtime': ['api', 'pkg/env', 'pkg/kube'],
  pkg: [],
  controllers: ['api', 'pkg'],
  cmd: ['api', 'pkg', 'controllers'],
  hack: ['api', 'pkg', 'controllers'],
  'test/aws': ['test/support'],
  'test/support': [],
  test: ['api', 'pkg', 'controllers', 'cmd', 'hack', 'test'],
};

const LAYERS = Object.keys(MAY_IMPORT).toSorted((a, b) => b.length - a.length);

const isWithin = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);
const layerOf = (path: string): string | undefined => LAYERS.find((layer) => isWithin(path, layer));
/** Tests, and the helpers that only tests use, may stand on the test harness. */
const isTest = (path: string): boolean => path.endsWith('.test.ts') || path.includes('/testing/');

/**
 * What is wrong with `importer` importing `specifier`, or undefined. `importer` is relative to the repository's root, with
 * forward slashes; packages are no business of this rule.
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
  const reachable = isTest(importer) && from !== 'test/aws' ? [...allowed, 'test'] : allowed;
  if (reachable.some((folder) => isWithin(imported, folder))) return undefined;
  return `${from} may not import ${to}: imports point cmd → controllers → pkg → api (hack/lint/arrows.ts)`;
}

/** The part of a syntax node that the rule reads: every form of import has its specifier in `source`. */
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

/** A plugin of oxlint: the rule `layers/arrows`. */
export default { meta: { name: 'layers' }, rules: { arrows } };
