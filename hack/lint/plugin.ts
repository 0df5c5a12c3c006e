import { relative, sep } from 'node:path';
import { wrongArrow } from './arrows.ts';

/** The parts of a syntax node that the rules read. Every kind of import has the imported path in `source`. */
interface Node {
  readonly source?: { readonly value?: unknown } | null;
  readonly callee?: { readonly name?: unknown };
}

interface RuleContext {
  readonly cwd: string;
  readonly filename: string;
  report(problem: { readonly node: Node; readonly message: string }): void;
}

const arrows = {
  create(context: RuleContext) {
    const importer = relative(context.cwd, context.filename).replaceAll(sep, '/');
    const check = (node: Node): void => {
      const message = wrongArrow(importer, node.source?.value);
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

const message =
  'Write the regular expression as a literal, or search without one: the rules against super-linear expressions check literals only';

const regexpLiterals = {
  create(context: RuleContext) {
    const check = (node: Node): void => {
      if (node.callee?.name === 'RegExp') context.report({ node, message });
    };
    return { NewExpression: check, CallExpression: check };
  },
};

/** A plugin of oxlint with the rules of this repository. */
export default { meta: { name: 'own' }, rules: { arrows, 'regexp-literals': regexpLiterals } };
