import type { Question } from '../authorization/policy.ts';
import type { Context, Operations, Output } from '../context.ts';
import { iamErrors } from '../errors.ts';
import { type Input, optionalString, recordList, stringList } from '../input.ts';
import type { Principal } from '../sts/principals.ts';
import { requiredText } from './name-limits.ts';
import { page } from './paging.ts';
import { noSuchRole } from './role-lookup.ts';

/** The user or role whose policies are simulated. A role need not have a session. */
function policySource(arn: string, { account, principals }: Context): Pick<Principal, 'arn' | 'account'> {
  const user = principals.list().find((principal) => principal.arn === arn && principal.session === undefined);
  if (user !== undefined) return user;
  const [, id, name] = /^arn:[^:]+:iam::(\d{12}):role\/(?:.*\/)?([^/]+)$/.exec(arn) ?? [];
  // AWS also refuses the ARN of a session, such as `arn:aws:sts::…:assumed-role/…`.
  if (name === undefined || id !== account.id) throw iamErrors.invalidInput(`Invalid Entity Arn: ${arn}`);
  if (account.roles.get(name.toLowerCase())?.arn !== arn) throw noSuchRole(name);
  return { arn, account: account.id };
}

/**
 * Source of the members: https://docs.aws.amazon.com/IAM/latest/APIReference/API_SimulatePrincipalPolicy.html. Without
 * ResourceArns, IAM simulates with the resource `*`. A simulated request has no condition keys except those in
 * ContextEntries.
 */
function simulatePrincipalPolicy(input: Input, context: Context): Output {
  const source = policySource(requiredText(input, 'PolicySourceArn'), context);
  const actions = stringList(input, 'ActionNames');
  if (actions.length === 0) throw iamErrors.validation("Value null at 'actionNames' failed to satisfy constraint");
  const asked = stringList(input, 'ResourceArns');
  const entries = recordList(input, 'ContextEntries').map((entry) => [
    requiredText(entry, 'ContextKeyName').toLowerCase(),
    stringList(entry, 'ContextKeyValues'),
  ]);
  const keys = Object.fromEntries(entries) as Question['context'];
  const results = actions.flatMap((action) =>
    (asked.length === 0 ? ['*'] : asked).map((resource) => ({
      EvalActionName: action,
      EvalResourceName: resource,
      EvalDecision:
        context.principals.decisionAbout(source, action, resource) ??
        (context.isAllowedByPolicy({ action, resource, context: keys }) ? 'allowed' : 'implicitDeny'),
      MatchedStatements: [],
      MissingContextValues: [],
    })),
  );
  const { items, paging } = page(input, results);
  return { EvaluationResults: items, ...paging };
}

export const simulationOperations: Operations = {
  SimulatePrincipalPolicy: {
    resource: (input) => optionalString(input, 'PolicySourceArn') ?? '*',
    run: simulatePrincipalPolicy,
    mutates: false,
  },
};
