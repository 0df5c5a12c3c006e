import { cut, MAX_FACT } from 'controller-runtime/text';
import type { EksClusterName, ProfileName } from '../../api/names.ts';
import type { AwsLocation } from './arns.ts';
import { type Statement, isConditionMet, isStatementFor, parseStatements } from './policy-document.ts';

/** This principal is the same in every partition. */
export const FARGATE_PODS_PRINCIPAL = 'eks-fargate-pods.amazonaws.com';
const ASSUME_ROLE = 'sts:AssumeRole';

/** The EKS cluster whose Fargate profiles may assume the role. */
interface TrustScope extends AwsLocation {
  readonly cluster: EksClusterName;
}

/**
 * Returns a trust policy that allows only profiles of the EKS cluster, as AWS recommends against the "confused deputy"
 * problem: https://docs.aws.amazon.com/eks/latest/userguide/pod-execution-role.html
 */
export function trustPolicy({ partition, region, account, cluster }: TrustScope): string {
  return JSON.stringify({
    Version: '2012-10-17',
    Statement: [
      {
        Effect: 'Allow',
        Condition: {
          ArnLike: { 'aws:SourceArn': `arn:${partition}:eks:${region}:${account}:fargateprofile/${cluster}/*` },
        },
        Principal: { Service: FARGATE_PODS_PRINCIPAL },
        Action: ASSUME_ROLE,
      },
    ],
  });
}

/** No statement allows Fargate to assume the role, a statement denies it, or the conditions are not met. */
export type TrustMistake = 'notAllowed' | 'denied' | 'condition';

export type TrustCheck =
  | { readonly kind: 'trusted' }
  | { readonly kind: 'untrusted'; readonly mistake: TrustMistake; readonly reason: string };

/**
 * Checks whether a trust policy lets the EKS cluster's Fargate profiles use the role. Without `profile`, an example
 * profile is checked.
 *
 * A condition that the controller cannot evaluate, for example on the AWS organization or with a policy variable,
 * counts as met in an Allow and as not met in a Deny, because IAM decides when EKS assumes the role.
 */
export function checkTrust(document: string, expected: TrustScope & { readonly profile?: ProfileName }): TrustCheck {
  const statements = parseStatements(document);
  if (statements === undefined) {
    return untrusted('notAllowed', 'the trust policy is not a JSON policy document');
  }
  const forPrincipal = statements.filter((statement) => isStatementFor(statement, FARGATE_PODS_PRINCIPAL, ASSUME_ROLE));
  const requests = requestContextsFor(expected);
  const denying = forPrincipal.filter(
    (s) => s.effect === 'Deny' && describeUnmetConditions(s, requests, false).length === 0,
  );
  if (denying.length > 0) {
    return untrusted('denied', `the trust policy denies ${FARGATE_PODS_PRINCIPAL} to call ${ASSUME_ROLE}`);
  }
  const allowing = forPrincipal.filter((statement) => statement.effect === 'Allow');
  if (allowing.length === 0) {
    return untrusted('notAllowed', `the trust policy does not allow ${FARGATE_PODS_PRINCIPAL} to call ${ASSUME_ROLE}`);
  }
  const obstacles = allowing.map((statement) => describeUnmetConditions(statement, requests, true));
  return obstacles.some((each) => each.length === 0)
    ? { kind: 'trusted' }
    : untrusted(
        'condition',
        `the trust policy allows ${FARGATE_PODS_PRINCIPAL} to call ${ASSUME_ROLE} only under the condition ` +
          `${obstacles.map((each) => each.join(' and ')).join(', or ')}; ` +
          `EKS sends aws:SourceArn ${sourceArn(expected)}`,
      );
}

/** IAM's conditions test these keys and values when EKS assumes the role. The keys are in lower case. */
type RequestContext = ReadonlyMap<string, string>;

/** AWS does not document whether aws:SourceArn includes the ID at the end of a profile's ARN, so both are tried. */
function requestContextsFor(expected: TrustScope & { readonly profile?: ProfileName }): readonly RequestContext[] {
  const anyId = '00000000-0000-0000-0000-000000000000';
  return [sourceArn(expected), `${sourceArn(expected)}/${anyId}`].map(
    (arn) =>
      new Map([
        ['aws:sourcearn', arn],
        ['aws:sourceaccount', expected.account],
        ['aws:principalisawsservice', 'true'],
        ['aws:principalservicename', FARGATE_PODS_PRINCIPAL],
      ]),
  );
}

function sourceArn({ partition, region, account, cluster, profile }: TrustScope & { profile?: ProfileName }): string {
  return `arn:${partition}:eks:${region}:${account}:fargateprofile/${cluster}/${profile ?? 'profile'}`;
}

/** Describes the conditions that none of the requests meets. */
function describeUnmetConditions(
  statement: Statement,
  requests: readonly RequestContext[],
  unknownHolds: boolean,
): readonly string[] {
  return statement.conditions
    .filter((condition) => !requests.some((request) => isConditionMet(condition, request) ?? unknownHolds))
    .map(({ operator, key, values }) => `${operator} ${key} ${values.map((value) => `"${value}"`).join(' or ')}`);
}

/**
 * Compares by meaning. A single value equals a list with one element. These differences do not matter: the order of
 * lists, upper and lower case in actions, condition operators, and condition keys, the field `Sid`, the fields next to
 * `Statement`, and ArnEquals instead of ArnLike.
 */
export function areTrustPoliciesEqual(a: string, b: string): boolean {
  if (a === b) {
    return true;
  }
  const left = canonicalTrust(a);
  return left !== undefined && left === canonicalTrust(b);
}

function canonicalTrust(document: string): string | undefined {
  const statements = parseStatements(document);
  return statements && JSON.stringify(statements.map((statement) => JSON.stringify(canonical(statement))).toSorted());
}

function canonical(statement: Statement): unknown {
  const conditions = statement.conditions.map(({ operator, key, values }) =>
    JSON.stringify([operator.toLowerCase().replace('arnequals', 'arnlike'), key.toLowerCase(), [...values].toSorted()]),
  );
  const principals = statement.principals
    .map(({ type, values }) => JSON.stringify([type, [...values].toSorted()]))
    .toSorted();
  const actions = statement.actions.map((action) => action.toLowerCase()).toSorted();
  return [
    statement.effect,
    statement.isNotPrincipal,
    principals,
    statement.isNotAction,
    actions,
    conditions.toSorted(),
    statement.otherFields,
  ];
}

const untrusted = (mistake: TrustMistake, reason: string): TrustCheck => ({
  kind: 'untrusted',
  mistake,
  reason: cut(reason, MAX_FACT),
});
