import * as ast from 'typescript/unstable/ast';
import { type Checker, type Type, TypeFlags } from 'typescript/unstable/sync';

type Node = ast.Node;
const { SyntaxKind } = ast;

/** A change of one place of the product, which some test should notice. */
export interface Mutant {
  readonly file: string;
  readonly line: number;
  /** The function, the code and its replacement. This text identifies the mutant in survivors.md. */
  readonly text: string;
}

const BOUNDARIES: Readonly<Record<string, string>> = { '<': '<=', '<=': '<', '>': '>=', '>=': '>' };
const TESTS = ['===', '!==', '<', '<=', '>', '>=', '&&', '||'];
const EFFECTS = [SyntaxKind.CallExpression, SyntaxKind.AwaitExpression, SyntaxKind.YieldExpression];

/**
 * Returns the source with all its mutants, of which runner.ts switches one on. In the text, `$at` returns whether a
 * mutant is on and records that a test reached it, and `$saw` replaces a condition and records which constant would
 * have changed it. `add` returns the number of a mutant.
 */
export function mutate(
  source: ast.SourceFile,
  checker: Checker,
  file: string,
  add: (mutant: Mutant) => number,
): string {
  const { text } = source;
  const codeOf = (node: Node): string => text.slice(node.getStart(source), node.end);
  const addFor = (node: Node, after: string): number => {
    const { line } = source.getLineAndCharacterOfPosition(node.getStart(source));
    const change = `${functionAround(node)}: ${codeOf(node)} → ${after}`;
    return add({ file, line: line + 1, text: change.replaceAll(/\s+/g, ' ') });
  };

  /** Returns the code of a node, with the mutants of its children. */
  function copy(node: Node): string {
    let [code, end] = ['', node.getStart(source)];
    node.forEachChild((child) => {
      code += text.slice(end, Math.max(end, child.getStart(source))) + withMutants(child);
      end = child.end;
    });
    return code + text.slice(end, node.end);
  }

  function withMutants(node: Node): string {
    // Code outside of functions runs before a mutant can be on, so it gets no mutants.
    if (functionAround(node) === undefined) return copy(node);
    const [whenTrue = -1, whenFalse = -1] = [true, false].map((constant) =>
      constantsFor(node).includes(constant) ? addFor(node, String(constant)) : undefined,
    );
    const code = withAlternative(node);
    return whenTrue === -1 && whenFalse === -1 ? code : `$saw(${whenTrue}, ${whenFalse}, ${code})`;
  }

  function withAlternative(node: Node): string {
    const after = alternativeTo(node);
    if (after !== undefined) return `($at(${addFor(node, after)}) ? ${after} : ${copy(node)})`;
    if (ast.isExpressionStatement(node) && EFFECTS.includes(node.expression.kind))
      return `{ if (!$at(${addFor(node, 'nothing')})) ${copy(node)} }`;
    if (ast.isReturnStatement(node) && isGuard(node))
      return `{ if ($at(${addFor(node, 'return undefined')})) return undefined; ${copy(node)} }`;
    if (!ast.isArrayLiteralExpression(node) || node.elements.length < 2 || hasContext(node, 'tuple')) return copy(node);
    const elements = node.elements.map((element) => {
      const spread = ast.isSpreadElement(element) ? withMutants(element.expression) : `[${withMutants(element)}]`;
      return `...($at(${addFor(element, 'no element')}) ? [] : ${spread})`;
    });
    return `[${elements.join(', ')}]`;
  }

  /** Returns the code with which a mutant replaces an expression; undefined: the expression has no such mutant. */
  function alternativeTo(node: Node): string | undefined {
    const operator = operatorOf(node) ?? '';
    if (ast.isBinaryExpression(node)) {
      if (operator in BOUNDARIES) return `${codeOf(node.left)} ${BOUNDARIES[operator]} ${codeOf(node.right)}`;
      return operator === '??' || (operator === '||' && !isBoolean(node)) ? codeOf(node.right) : undefined;
    }
    if (!ast.isCallExpression(node) || !ast.isPropertyAccessExpression(node.expression)) return undefined;
    const { name, expression } = node.expression;
    const [predicate] = node.arguments;
    const isMutated = predicate && ast.isArrowFunction(predicate) && constantsFor(predicate.body).length > 0;
    return codeOf(name) === 'filter' && !isMutated && !codeOf(node.expression).includes('?.')
      ? codeOf(expression)
      : undefined;
  }

  /**
   * Returns the constants with which mutants replace a condition. Leaves out a constant that has the effect of another
   * mutant, or the combined effect of several mutants.
   */
  function constantsFor(node: Node): readonly boolean[] {
    if (ast.isParenthesizedExpression(node) || node.kind === SyntaxKind.TrueKeyword) return [];
    const [child, parent] = withoutParentheses(node);
    const [own, operator] = [operatorOf(node), operatorOf(parent)];
    if (isNot(parent) || (ast.isBinaryExpression(parent) && parent.operatorToken === child)) return [];
    if (isLogical(operator) && isBoolean(parent)) return own === operator ? [] : [operator === '&&'];
    if (ast.isWhileStatement(parent) || ast.isForStatement(parent)) return isTested(node) ? [false] : [];
    const isLeft = operator === '&&' && ast.isBinaryExpression(parent) && parent.left === child;
    const isValue = (isNot(node) || TESTS.includes(own ?? '')) && isBoolean(node);
    if (!isLeft && !isTested(node) && !isValue) return [];
    return isLogical(own) ? [own === '||'] : [true, false];
  }

  const operatorOf = (node: Node): string | undefined =>
    ast.isBinaryExpression(node) ? codeOf(node.operatorToken) : undefined;

  const isBoolean = (node: Node): boolean =>
    isTested(node) || ((checker.getTypeAtLocation(node)?.flags ?? 0) & TypeFlags.BooleanLike) !== 0;

  function isTested(node: Node): boolean {
    const [child, parent] = withoutParentheses(node);
    if (ast.isIfStatement(parent) || ast.isWhileStatement(parent)) return parent.expression === child;
    if (ast.isConditionalExpression(parent) || ast.isForStatement(parent)) return parent.condition === child;
    return isNot(parent) || (isLogical(operatorOf(parent)) && isTested(parent));
  }

  /** Reports whether a return is a guard: without it, the function continues or ends without a result. */
  function isGuard({ expression, parent }: ast.ReturnStatement): boolean {
    const branch = ast.isBlock(parent) && parent.statements.length === 1 ? parent.parent : parent;
    // Such a return needs no mutant of its own, because a mutant replaces the condition of the `if` with `false`.
    if (ast.isIfStatement(branch) && branch.elseStatement === undefined) return false;
    if (expression === undefined || ast.isConditionalExpression(expression)) return false;
    return codeOf(expression) !== 'undefined' && hasContext(expression, 'optional');
  }

  function hasContext(node: ast.Expression, kind: 'optional' | 'tuple'): boolean {
    const type: Type | undefined = checker.getContextualType(node);
    if (type === undefined || kind === 'tuple') return type !== undefined && checker.isTupleType(type);
    return type.isUnionType() && type.getTypes().some(({ flags }) => (flags & TypeFlags.Undefined) !== 0);
  }

  return copy(source);
}

const isLogical = (operator: string | undefined): boolean => operator === '&&' || operator === '||';

const isNot = (node: Node): boolean =>
  ast.isPrefixUnaryExpression(node) && node.operator === SyntaxKind.ExclamationToken;

function withoutParentheses(node: Node): readonly [child: Node, parent: Node] {
  let [child, { parent }] = [node, node];
  while (ast.isParenthesizedExpression(parent)) [child, { parent }] = [parent, parent];
  return [child, parent];
}

function functionAround(node: Node): string | undefined {
  for (let at = node.parent; at.kind !== SyntaxKind.SourceFile; { parent: at } = at) {
    if (ast.isFunctionDeclaration(at) || ast.isMethodDeclaration(at)) return at.name?.getText() ?? 'default';
    if (ast.isVariableDeclaration(at) && at.initializer?.kind === SyntaxKind.ArrowFunction) return at.name.getText();
  }
  return undefined;
}
