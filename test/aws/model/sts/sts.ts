import type { Context, Operations, Output } from '../context.ts';
import { constraintViolated, iamErrors } from '../errors.ts';
import { type Input, optionalInteger, optionalString } from '../input.ts';
import { requiredText } from '../iam/name-limits.ts';
import { currentVersion } from '../iam/role-visibility.ts';
import { MAX_SESSION_SECONDS } from '../iam/roles.ts';
import { Instant } from '../time.ts';
import { allowsAssume } from '../iam/trust-policy.ts';

function getCallerIdentity(_input: Input, { principal }: Context): Output {
  return { UserId: principal.userId, Account: principal.account, Arn: principal.arn };
}

function checkLength(text: string, member: string, shortest: number, longest: number): void {
  if (text.length < shortest) {
    throw constraintViolated(text, member, `Member must have length greater than or equal to ${shortest}`);
  }
  if (text.length > longest) {
    throw constraintViolated(text, member, `Member must have length less than or equal to ${longest}`);
  }
}

function readSessionName(input: Input): string {
  const name = optionalString(input, 'RoleSessionName');
  if (name === undefined) throw constraintViolated(null, 'roleSessionName', 'Member must not be null');
  checkLength(name, 'roleSessionName', 2, 64);
  if (!/^[\w+=,.@-]*$/.test(name)) {
    const constraint = 'Member must satisfy regular expression pattern: [\\w+=,.@-]*';
    throw constraintViolated(name, 'roleSessionName', constraint);
  }
  return name;
}

/** Reads the requested duration of the role session from an AssumeRole request, in seconds. */
function readDuration(input: Input): number {
  const seconds = optionalInteger(input, 'DurationSeconds') ?? 3600;
  if (seconds < 900) {
    const constraint = 'Member must have value greater than or equal to 900';
    throw constraintViolated(String(seconds), 'durationSeconds', constraint);
  }
  if (seconds > 43_200) {
    const constraint = 'Member must have value less than or equal to 43200';
    throw constraintViolated(String(seconds), 'durationSeconds', constraint);
  }
  return seconds;
}

/** The emulator only checks the form of a session policy. The session has all permissions of its role. */
function checkInlinePolicy(input: Input): void {
  const policy = optionalString(input, 'Policy');
  if (policy === undefined) return;
  checkLength(policy, 'policy', 1, 2048);
  try {
    JSON.parse(policy);
  } catch {
    throw iamErrors.malformedPolicy('The policy is not in the valid JSON format.');
  }
}

function assumeRole(input: Input, context: Context): Output {
  const { state, principals, principal, now } = context;
  const roleArn = requiredText(input, 'RoleArn');
  const sessionName = readSessionName(input);
  const seconds = readDuration(input);
  checkInlinePolicy(input);
  const externalId = optionalString(input, 'ExternalId');
  if (externalId !== undefined) checkLength(externalId, 'externalId', 2, 1224);

  // STS returns the same error for a role that does not exist and for a role that does not trust the caller.
  const denied = iamErrors.accessDenied(
    `User: ${principal.arn} is not authorized to perform: sts:AssumeRole on resource: ${roleArn}`,
  );
  const parts = /^arn:([^:]+):iam::(\d{12}):role\/(?:.*\/)?([^/]+)$/.exec(roleArn);
  if (parts === null) throw iamErrors.validation(`${roleArn} is invalid`);
  const account = state.accounts.get(parts[2] ?? '');
  const role = account?.roles.get((parts[3] ?? '').toLowerCase());
  if (account === undefined || role === undefined || role.arn !== roleArn || parts[1] !== principal.partition) {
    throw denied;
  }
  const trusted = allowsAssume(currentVersion(role).trustPolicy, {
    principal: { arn: principal.session?.roleArn ?? principal.arn, account: principal.account },
    context: {
      'aws:principalarn': principal.session?.roleArn ?? principal.arn,
      'aws:principalaccount': principal.account,
      'sts:rolesessionname': sessionName,
      ...(externalId === undefined ? {} : { 'sts:externalid': externalId }),
    },
  });
  if (!trusted) throw denied;
  if (principal.session !== undefined && seconds > 3600) {
    throw iamErrors.validation(
      'The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role chaining',
    );
  }
  if (seconds > MAX_SESSION_SECONDS) {
    throw iamErrors.validation('The requested DurationSeconds exceeds the MaxSessionDuration set for this role.');
  }

  const expiresAt = now + seconds * 1000;
  const session = {
    accessKeyId: state.env.id('ASIA', 20),
    arn: `arn:${account.partition}:sts::${account.id}:assumed-role/${role.name}/${sessionName}`,
    userId: `${role.id}:${sessionName}`,
    account: account.id,
    partition: account.partition,
    foreign: principal.foreign,
    session: { roleArn, token: state.env.id('', 64), expiresAt },
  };
  principals.addSession(session);
  return {
    Credentials: {
      AccessKeyId: session.accessKeyId,
      SecretAccessKey: state.env.id('', 40),
      SessionToken: session.session.token,
      Expiration: new Instant(expiresAt),
    },
    AssumedRoleUser: { AssumedRoleId: session.userId, Arn: session.arn },
  };
}

export const stsOperations: Operations = {
  // GetCallerIdentity needs no permission: AWS answers even under an explicit Deny
  // (https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html).
  GetCallerIdentity: { resource: () => '*', run: getCallerIdentity, mutates: false },
  AssumeRole: { resource: (input) => optionalString(input, 'RoleArn') ?? '*', run: assumeRole, mutates: false },
};
