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
  'Status is a report, so no decision reads it: use the record, AWS, or a named answer of controllers/shared/object-state.ts';

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

interface TypeReference extends Node {
  readonly type: string;
  readonly typeName?: { readonly name?: string };
  readonly typeArguments?: { readonly params: readonly TypeReference[] } | null;
}

interface Literal extends Node {
  readonly type: string;
  readonly properties?: readonly unknown[];
}

interface Table extends Node {
  readonly id: { readonly typeAnnotation?: { readonly typeAnnotation: TypeReference } | null };
  readonly init?: Literal | null;
}

interface Lookup extends Node {
  readonly computed: boolean;
  readonly object: Literal;
}

/** Whether the type is a Record<string, …>, or wraps such a type, for example in Readonly. */
function hasTextKeys({ typeName, typeArguments }: TypeReference): boolean {
  const [first] = typeArguments?.params ?? [];
  if (first === undefined) return false;
  return typeName?.name === 'Record' ? first.type === 'TSStringKeyword' : hasTextKeys(first);
}

const lookupMessage =
  'Use a Map, because every object also has keys such as "constructor", or declare a Record whose keys are a union of literals';

/** Reports lookup tables for which TypeScript accepts every string as a key. */
const lookups = {
  create(context: RuleContext) {
    return {
      VariableDeclarator({ id, init }: Table): void {
        const type = id.typeAnnotation?.typeAnnotation;
        if (type !== undefined && hasTextKeys(type) && (init?.properties ?? []).length > 0)
          context.report({ node: type, message: lookupMessage });
      },
      MemberExpression(node: Lookup): void {
        if (node.computed && node.object.type === 'ObjectExpression') context.report({ node, message: lookupMessage });
      },
    };
  },
};

/** An oxlint plugin with the rules of this repository. */
export default {
  meta: { name: 'own' },
  rules: { arrows, lookups, 'regexp-literals': regexpLiterals, 'status-is-report': statusIsReport },
};
