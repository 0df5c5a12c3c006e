/** The part of a syntax node that this lint rule reads. */
interface CallNode {
  readonly callee?: { readonly name?: unknown };
}

interface RuleContext {
  report(problem: { readonly node: CallNode; readonly message: string }): void;
}

const MESSAGE =
  'Write the regular expression as a literal, or search without one: the rules against super-linear expressions check literals only';

const regexp = {
  create(context: RuleContext) {
    const check = (node: CallNode): void => {
      if (node.callee?.name === 'RegExp') context.report({ node, message: MESSAGE });
    };
    return { NewExpression: check, CallExpression: check };
  },
};

/** A plugin of oxlint with the rule `literals/regexp`. */
export default { meta: { name: 'literals' }, rules: { regexp } };
