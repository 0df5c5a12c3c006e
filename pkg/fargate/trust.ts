import type { EksClusterName, ProfileName } from '../../api/names.ts';
import type { Place } from './arns.ts';
import type { Statement } from './policy.ts';
import { conditionHolds, names, parseStatements } from './policy.ts';

/** Who assumes a pod execution role; the same in every partition. */
const FARGATE_PODS_PRINCIPAL = 'eks-fargate-pods.amazonaws.com';
const ASSUME_ROLE = 'sts:AssumeRole';

/** Whose profiles a role serves. */
export interface TrustedFor extends Place {
  readonly cluster: EksClusterName;
}

/**
 * The trust policy of a role of ours, with the condition that keeps EKS from being talked into using it for somebody
 * else's profile (the "confused deputy"): https://docs.aws.amazon.com/eks/latest/userguide/pod-execution-role.html
 */
export function trustPolicy({ partition, region, account, cluster }: TrustedFor): string {
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

export type TrustVerdict = { readonly kind: 'yes' } | { readonly kind: 'no'; readonly reason: string };

/**
 * Whether a trust policy lets Fargate assume the role for a profile of the cluster (for that one profile, where named).
 *
 * Conditions on things that cannot be known here (an organisation, a policy variable) are taken as met in an Allow and
 * as not met in a Deny: EKS, which asks IAM itself, has the last word.
 */
export function trusts(document: string, expected: TrustedFor & { readonly profile?: ProfileName }): TrustVerdict {
  const statements = parseStatements(document);
  if (statements === undefined) {
    return no('the trust policy is not a JSON policy document');
  }
  const forPrincipal = statements.filter((statement) => names(statement, FARGATE_PODS_PRINCIPAL, ASSUME_ROLE));
  const requests = requestsOf(expected);
  const denying = forPrincipal.filter((s) => s.effect === 'Deny' && unmet(s, requests, false).length === 0);
  if (denying.length > 0) {
    return no(`the trust policy denies ${ASSUME_ROLE} to ${FARGATE_PODS_PRINCIPAL}`);
  }
  const allowing = forPrincipal.filter((statement) => statement.effect === 'Allow');
  if (allowing.length === 0) {
    return no(`the trust policy does not allow ${ASSUME_ROLE} to ${FARGATE_PODS_PRINCIPAL}`);
  }
  const obstacles = allowing.map((statement) => unmet(statement, requests, true));
  return obstacles.some((each) => each.length === 0)
    ? { kind: 'yes' }
    : no(
        `the trust policy allows ${FARGATE_PODS_PRINCIPAL} only where ${obstacles.map((each) => each.join(' and ')).join(', or ')}; ` +
          `EKS asks for ${sourceArn(expected)}`,
      );
}

/** What IAM knows when EKS asks on behalf of a profile; keys in lower case. */
type Request = ReadonlyMap<string, string>;

/** Whether EKS names the profile with or without the id at the end of its ARN is documented nowhere: either will do. */
function requestsOf(expected: TrustedFor & { readonly profile?: ProfileName }): readonly Request[] {
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

function sourceArn({ partition, region, account, cluster, profile }: TrustedFor & { profile?: ProfileName }): string {
  return `arn:${partition}:eks:${region}:${account}:fargateprofile/${cluster}/${profile ?? 'profile'}`;
}

/** The conditions of a statement that none of the requests meets, in words. */
function unmet(statement: Statement, requests: readonly Request[], unknownHolds: boolean): readonly string[] {
  return statement.conditions
    .filter((condition) => !requests.some((request) => conditionHolds(condition, request) ?? unknownHolds))
    .map(({ operator, key, values }) => `${key} is ${operator} ${values.map((value) => `"${value}"`).join(' or ')}`);
}

/**
 * Whether two trust policies say the same: a single statement, action, service or value and a list of one are equal, as
 * are lists in another order, condition keys in another case, and ArnEquals and ArnLike. A `Sid` says nothing.
 */
export function sameTrust(a: string, b: string): boolean {
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
    statement.exceptPrincipals,
    principals,
    statement.exceptActions,
    actions,
    conditions.toSorted(),
    statement.rest,
  ];
}

const no = (reason: string): TrustVerdict => ({ kind: 'no', reason });
