import { expect } from 'chai';
import { DeadlineExceeded } from 'controller-runtime/async';
import type { AwsFailure, CredentialsProblem } from '../../../pkg/cloud/index.ts';
import { type CallContext, reasonForCredentials, reasonForFailure } from './failure-reasons.ts';
import { conditionTypeOf, isUnreported, messageOf, pollOf } from '../reasons/reasons.ts';
import { ACCOUNT, TARGET, aFailure } from '../testing/builders.ts';

const CONTEXT = { target: TARGET, session: { account: ACCOUNT } };
const OF_TENANT = { target: { ...TARGET, identity: { kind: 'AWSClusterRoleIdentity', name: 'team-a' } } };

const eks = (code: string, statusCode: number, message = 'x'): AwsFailure => aFailure({ code, statusCode, message });
const iam = (operation: string, code: string, statusCode: number, message = 'x'): AwsFailure =>
  aFailure({ service: 'iam', operation, code, statusCode, message });
/** Returns a failure of a call that AWS did not answer. */
const unanswered = (code: string, cause?: Error): AwsFailure => {
  const { statusCode: _none, ...failure } = aFailure({ code, message: 'no result', ...(cause && { cause }) });
  return failure;
};
const late = new DeadlineExceeded('preparing the request', 10_000);
const unknownToken = eks('UnrecognizedClientException', 403);
const expiredToken = eks('ExpiredTokenException', 403);
const elsewhere = { acceptedIn: 'eu-central-1' };

const EKS = 'EKSFargateProfileReady';
const IAM = 'IAMFargateRolesReady';
const CREDENTIALS = 'CredentialsReady';

// The tests of pkg/cloud say which error codes belong to each kind of failure. Here each kind has one row.
const ROWS: readonly (readonly [situation: string, AwsFailure, reason: string, conditionType: string | undefined])[] = [
  ['a value that EKS rejects', eks('InvalidParameterException', 400), 'Refused', EKS],
  ['a value that IAM rejects', iam('UpdateAssumeRolePolicy', 'MalformedPolicyDocument', 400), 'Refused', IAM],
  [
    'a policy that does not exist',
    iam('AttachRolePolicy', 'NoSuchEntity', 404, 'Policy x does not exist'),
    'Refused',
    IAM,
  ],
  ['the quota of profiles', eks('ResourceLimitExceededException', 400), 'QuotaExceeded', EKS],
  ['a quota of IAM', iam('CreateRole', 'LimitExceeded', 409), 'AWSQuotaExceeded', IAM],
  [
    'an unknown EKS cluster',
    eks('ResourceNotFoundException', 404, 'No cluster found for name: c.'),
    'EKSClusterNotFound',
    EKS,
  ],
  ['a missing permission of EKS', eks('AccessDeniedException', 403), 'AccessDenied', EKS],
  ['a missing permission of IAM', iam('CreateRole', 'AccessDenied', 403), 'AccessDenied', IAM],
  [
    'a role that IAM found a moment ago and does not find now',
    iam('ListAttachedRolePolicies', 'NoSuchEntity', 404, 'The role with name pods cannot be found.'),
    'Propagating',
    undefined,
  ],
  ['throttling', eks('ThrottlingException', 429), 'AWSUnavailable', EKS],
  ['an outage', iam('GetRole', 'ServiceFailure', 500), 'AWSUnavailable', IAM],
  ['no answer', unanswered('NoAnswer'), 'AWSUnavailable', EKS],
  ['a request that is not signed in time', unanswered('NotPrepared', late), 'AWSUnavailable', EKS],
  ['a request that the SDK refuses', unanswered('NotPrepared'), 'SDKRefused', EKS],
  ['credentials that have expired', expiredToken, 'CredentialsInvalid', CREDENTIALS],
  ['the same, renewed meanwhile', { ...expiredToken, ...elsewhere }, 'CredentialsInvalid', CREDENTIALS],
  ['credentials that AWS does not know', unknownToken, 'CredentialsInvalid', CREDENTIALS],
  ['a region that is not enabled', { ...unknownToken, ...elsewhere }, 'RegionNotEnabled', CREDENTIALS],
  ['an unknown error code', eks('TeapotException', 418), 'AWSError', EKS],
];

describe('reasonForFailure', () => {
  const messageFor = (failure: AwsFailure, over: Partial<CallContext> = {}): string =>
    messageOf(reasonForFailure(failure, { ...CONTEXT, ...over }));

  for (const [situation, failure, reason, conditionType] of ROWS)
    it(`gives ${reason} for ${situation}`, () => {
      const found = reasonForFailure(failure, CONTEXT);
      expect([found.name, conditionTypeOf(found)]).to.deep.equal([reason, conditionType]);
    });

  it('names the field of the subnets if AWS rejects subnets that EKS has chosen', () => {
    const failure = eks('InvalidParameterException', 400, 'Subnet subnet-0a is not a private subnet');
    expect(messageFor(failure, { subnets: 'eks' })).to.include(
      ' Name private subnets in spec.subnetIDs. The controller',
    );
  });

  for (const [message, operation, field] of [
    ['Scope ARN: x does not exist', 'PutRolePermissionsBoundary', 'spec.rolePermissionsBoundary'],
    ['Policy x does not exist', 'AttachRolePolicy', 'spec.roleAdditionalPolicies'],
    ['Label cannot be empty in selectors', 'CreateFargateProfile', 'spec.selectors'],
    ['Tag keys are case-insensitive', 'TagRole', 'spec.additionalTags'],
    ['The request is not valid', 'CreateFargateProfile', 'the spec'],
  ] as const)
    it(`names ${field} when AWS rejects ${operation} because "${message}"`, () => {
      const failure = { ...eks('InvalidParameterException', 400, message), operation };
      expect(messageFor(failure)).to.include(`Fix ${field}, or`);
    });

  it('says that AWS does not answer only if it was asked and sent nothing', () => {
    const unusable = 'AWS gives no usable answer to a request from the controller. ';
    expect(messageFor(unanswered('NoAnswer'))).to.include('AWS does not respond to a request from the controller. ');
    expect(messageFor(unanswered('NotPrepared', late))).to.include(unusable);
    expect(messageFor(eks('ServerException', 503))).to.include(unusable);
    expect(messageFor(eks('Undecodable', 502))).to.include(unusable);
  });

  it('polls soon after throttling, however long the object has waited, and backs off from a failing service', () => {
    const pollsAfter = (failure: AwsFailure): readonly number[] =>
      [0, 40_000].map((waited) => pollOf(reasonForFailure(failure, CONTEXT), waited));
    expect(pollsAfter(eks('ThrottlingException', 429))).to.deep.equal([2_000, 2_000]);
    expect(pollsAfter(eks('ServerException', 503))).to.deep.equal([2_000, 40_000]);
  });

  it('gives the same message for each request id of the same failure', () => {
    const messages = [1, 2].map((attempt) => {
      const requestId = `0000000${attempt}-1111-2222-3333-444444444444`;
      const message = `no (Service: Eks, Status Code: 403, Request ID: ${requestId}) RequestId: ${requestId}`;
      return messageFor({ ...eks('AccessDeniedException', 403, message), requestId });
    });
    expect(messages[0]).to.equal(messages[1]).and.not.to.include('1111-2222');
  });

  it('says which field of the spec makes the role exceed a quota of IAM', () => {
    const quota = (operation: string): string => messageFor(iam(operation, 'LimitExceeded', 409));
    expect(quota('CreateRole')).to.match(/^The AWS account has reached a quota\. Delete resources /);
    expect(quota('AttachRolePolicy')).to.match(
      /^The IAM role has as many policies as .* spec\.roleAdditionalPolicies,/,
    );
    expect(quota('TagRole')).to.match(/^The IAM role has as many tags as .* spec\.additionalTags of /);
  });

  it('gives a way out of a refused deletion, but none that leaves a profile in an EKS cluster that is being deleted', () => {
    const ofProfile = eks('AccessDeniedException', 403);
    const ofRole = iam('DeleteRole', 'AccessDenied', 403);
    expect(messageFor(ofProfile, { abandonment: 'retain' })).to.contain(
      ' set spec.deletionPolicy to Retain; the profile and role then stay in AWS. ',
    );
    expect(messageFor(ofProfile, { abandonment: 'removeFinalizer' })).to.equal(messageFor(ofProfile));
    expect(messageFor(ofRole, { abandonment: 'removeFinalizer' }), 'GetRole').to.equal(messageFor(ofRole));
    expect(messageFor(ofRole, { abandonment: 'removeFinalizer', isProfileGone: true })).to.contain(
      'If this is not possible, remove awsfargateprofile.infrastructure.cluster.x-k8s.io from metadata.finalizers of this object; the role then stays in AWS. ',
    );
  });

  it('names the identity whose credentials AWS rejects, and the way out of a deletion', () => {
    expect(messageFor(expiredToken, OF_TENANT)).to.match(
      /^AWS rejects the credentials of AWSClusterRoleIdentity "team-a"\. Renew .* in its Secret.*\. AWS says: /,
    );
    expect(messageFor(unknownToken, { abandonment: 'retain' })).to.contain(
      'To end the deletion of this object immediately, set spec.deletionPolicy to Retain; the profile and role then stay in AWS. ',
    );
  });
});

describe('reasonForCredentials', () => {
  const denied = aFailure({ service: 'sts', operation: 'AssumeRole', code: 'AccessDenied', statusCode: 403 });
  const down = aFailure({ service: 'sts', operation: 'GetCallerIdentity', code: 'NoAnswer' });
  const rows: readonly (readonly [string, CredentialsProblem, string])[] = [
    ['no credentials', { reason: 'CredentialsMissing', message: 'no' }, 'CredentialsMissing'],
    ['wrong credentials', { reason: 'CredentialsInvalid', message: 'no', failure: denied }, 'CredentialsInvalid'],
    ['STS not answering', { reason: 'AccountUnknown', message: 'no', failure: down }, 'AWSUnavailable'],
    ['STS refusing', { reason: 'AccountUnknown', message: 'no', failure: denied }, 'AccessDenied'],
    ['an unknown account', { reason: 'AccountUnknown', message: 'no' }, 'CredentialsMissing'],
    ['a region that cannot exist', { reason: 'RegionInvalid', message: 'no' }, 'RegionInvalid'],
    ['an identity that does not exist', { reason: 'IdentityNotFound', message: 'no' }, 'IdentityNotFound'],
    ['an identity of other namespaces', { reason: 'IdentityNotAllowed', message: 'no' }, 'IdentityNotAllowed'],
  ];
  for (const [situation, problem, name] of rows)
    it(`gives ${name} for ${situation}`, () => {
      const reason = reasonForCredentials(problem, CONTEXT);
      expect([reason.name, conditionTypeOf(reason)]).to.deep.equal([name, CREDENTIALS]);
    });

  it('says where to renew rejected credentials, also if a role identity gets them from the manager itself', () => {
    const messageFor = (whose: string): string =>
      messageOf(reasonForCredentials({ reason: 'CredentialsInvalid', message: 'no', whose }, OF_TENANT));
    expect(messageFor('the manager itself')).to.contain('Renew them, and restart the manager if');
    expect(messageFor('AWSClusterStaticIdentity "base"')).to.contain('in its Secret').and.not.to.contain('the manager');
  });

  it('reports nothing about an interrupted reconcile', () => {
    const interrupted: CredentialsProblem = { reason: 'Interrupted', message: 'the manager stops' };
    expect(isUnreported(reasonForCredentials(interrupted, CONTEXT))).to.equal(true);
  });
});
