import { relative, sep } from 'node:path';
import { wrongArrow } from './arrows.ts';
import { isStatusRead, isStatusTaken } from './status.ts';

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

interface MemberExpression extends Node {
  readonly object: { readonly name?: string };
  readonly property: { readonly name?: string };
}

interface ObjectPattern extends Node {
  readonly properties: readonly { readonly key?: { readonly name?: string } }[];
  readonly typeAnnotation?: { readonly typeAnnotation?: { readonly typeName?: { readonly name?: string } } } | null;
}

interface Declarator extends Node {
  readonly id: Partial<ObjectPattern>;
  readonly init?: { readonly name?: string } | null;
}

const statusMessage =
  'Status is a report, so no decision reads it: use the note, AWS, or a named answer of controllers/shared/object-state.ts';

const statusIsReport = {
  create(context: RuleContext) {
    const file = relative(context.cwd, context.filename).replaceAll(sep, '/');
    const report = (node: Node): void => context.report({ node, message: statusMessage });
    return {
      MemberExpression(node: MemberExpression): void {
        if (isStatusRead(file, node.object.name, node.property.name)) report(node);
      },
      ObjectPattern(node: ObjectPattern): void {
        const type = node.typeAnnotation?.typeAnnotation?.typeName?.name;
        if (node.properties.some(({ key }) => isStatusTaken(file, type, key?.name))) report(node);
      },
      VariableDeclarator({ id, init }: Declarator): void {
        const names = (id.properties ?? []).map(({ key }) => key?.name);
        if (names.some((name) => isStatusRead(file, init?.name, name))) report(id);
      },
    };
  },
};

/** An oxlint plugin with the rules of this repository. */
export default {
  meta: { name: 'own' },
  rules: { arrows, 'regexp-literals': regexpLiterals, 'status-is-report': statusIsReport },
};
