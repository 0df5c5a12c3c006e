import { expect } from 'chai';
import type { AwsFailure } from '../../pkg/cloud/failure.ts';
import type { CredentialsProblem, IdentityRef } from '../../pkg/cloud/types.ts';
import { whyOfCredentials, whyOfFailure } from './failures.ts';
import { messageOf, natureOf, partOf, pollOf } from './reasons.ts';
import { aFailure } from './testing/builders.ts';

const ASKER = { cluster: 'prod', region: 'eu-west-1', account: '111122223333', identity: undefined };

type Row = readonly [situation: string, failure: Partial<AwsFailure>, reason: string, part: string | undefined];

const eks = (code: string, statusCode: number, message: string): Partial<AwsFailure> => ({ code, statusCode, message });
const iam = (operation: string, code: string, statusCode: number, message: string): Partial<AwsFailure> => ({
  service: 'iam',
  operation,
  code,
  statusCode,
  message,
});
const ours = (code: string, message: string): Partial<AwsFailure> => {
  const { statusCode: _none, ...failure } = aFailure({ code, message });
  return failure;
};

const EKS = 'EKSFargateProfileReady';
const IAM = 'IAMFargateRolesReady';
const CREDENTIALS = 'CredentialsReady';

/** The messages are those of the real services. */
const ROWS: readonly Row[] = [
  [
    'a public subnet',
    eks('InvalidParameterException', 400, 'Subnet subnet-0a provided in Fargate Profile is not a private subnet'),
    'Refused',
    EKS,
  ],
  [
    'a zone without Fargate',
    eks(
      'InvalidParameterException',
      400,
      'Fargate Profile creation for the Availability Zone use1-az3 for Subnet subnet-0a is not supported',
    ),
    'Refused',
    EKS,
  ],
  [
    'too many selectors',
    eks('InvalidParameterException', 400, 'Request contains more than 5 Selectors'),
    'Refused',
    EKS,
  ],
  ['an odd tag', eks('BadRequestException', 400, 'Invalid tag key'), 'Refused', EKS],
  [
    'the quota of profiles',
    eks('ResourceLimitExceededException', 400, 'Fargate Profile limit exceeded for cluster.'),
    'QuotaExceeded',
    EKS,
  ],
  [
    'no such cluster',
    eks('ResourceNotFoundException', 404, 'No cluster found for name: prod.'),
    'EKSClusterNotFound',
    EKS,
  ],
  [
    'a permission of EKS that is missing',
    eks(
      'AccessDeniedException',
      403,
      'User: arn:aws:iam::111122223333:user/m is not authorized to perform: eks:CreateFargateProfile',
    ),
    'AccessDenied',
    EKS,
  ],
  [
    'a permission that EKS misses on the caller’s behalf',
    eks(
      'InvalidRequestException',
      400,
      "Failed to validate if SLR: AWSServiceRoleForAmazonEKSForFargate already exists due to missing permissions for 'iam:GetRole",
    ),
    'AccessDenied',
    EKS,
  ],
  [
    'a permission of IAM that is missing',
    iam('CreateRole', 'AccessDenied', 403, 'User: x is not authorized to perform: iam:CreateRole on resource: y'),
    'AccessDenied',
    IAM,
  ],
  [
    'the quota of roles, which is not that of profiles',
    iam('CreateRole', 'LimitExceeded', 409, 'Cannot exceed quota for RolesPerAccount: 1000'),
    'AWSQuotaExceeded',
    IAM,
  ],
  [
    'the quota of policies of a role',
    iam('AttachRolePolicy', 'LimitExceededException', 409, 'Cannot exceed quota for PoliciesPerRole: 10'),
    'AWSQuotaExceeded',
    IAM,
  ],
  [
    'a policy that is not there',
    iam(
      'AttachRolePolicy',
      'NoSuchEntity',
      404,
      'Policy arn:aws:iam::aws:policy/x does not exist or is not attachable.',
    ),
    'Refused',
    IAM,
  ],
  [
    'a role that was found a moment ago, by a part of IAM that does not see it (yet, or any more)',
    iam('ListAttachedRolePolicies', 'NoSuchEntity', 404, 'The role with name pods cannot be found.'),
    'Propagating',
    undefined,
  ],
  [
    'a boundary that is not there',
    iam('CreateRole', 'NoSuchEntity', 404, 'Scope ARN: arn:aws:iam::aws:policy/x does not exist or is not attachable.'),
    'Refused',
    IAM,
  ],
  [
    'a trust policy that IAM does not take',
    iam('UpdateAssumeRolePolicy', 'MalformedPolicyDocument', 400, 'Invalid principal in policy'),
    'Refused',
    IAM,
  ],
  ['throttling by EKS', eks('ThrottlingException', 429, 'Rate exceeded'), 'AWSUnavailable', EKS],
  ['too many requests', eks('TooManyRequestsException', 429, 'Too Many Requests'), 'AWSUnavailable', EKS],
  ['throttling by IAM', iam('GetRole', 'Throttling', 400, 'Rate exceeded'), 'AWSUnavailable', IAM],
  ['an outage of EKS', eks('ServerException', 500, 'Internal server error'), 'AWSUnavailable', EKS],
  ['EKS not available', eks('ServiceUnavailableException', 503, 'Service unavailable'), 'AWSUnavailable', EKS],
  ['an outage of IAM', iam('GetRole', 'ServiceFailure', 500, 'internal failure'), 'AWSUnavailable', IAM],
  ['no answer', ours('NoAnswer', 'EKS DescribeFargateProfile: no result within 10 s'), 'AWSUnavailable', EKS],
  [
    'credentials that have expired',
    eks('ExpiredTokenException', 403, 'The security token has expired'),
    'CredentialsInvalid',
    CREDENTIALS,
  ],
  [
    'credentials that AWS does not know',
    eks('UnrecognizedClientException', 403, 'The security token is invalid'),
    'CredentialsInvalid',
    CREDENTIALS,
  ],
  ['what nobody has heard of', eks('TeapotException', 418, 'I am a teapot'), 'AWSError', EKS],
  ['an answer that cannot be read', ours('Undecodable', 'fargateProfile.status: missing'), 'AWSError', EKS],
];

describe('whyOfFailure', () => {
  for (const [situation, failure, reason, part] of ROWS) {
    it(`takes ${situation} for ${reason}`, () => {
      const found = whyOfFailure({ ...aFailureWithout(failure) }, ASKER);
      expect(found.reason).to.equal(reason);
      expect(partOf(found)).to.equal(part);
    });
  }

  it('says it in AWS’s own words, with the call that they answer', () => {
    const subnet = eks(
      'InvalidParameterException',
      400,
      'Subnet subnet-0a provided in Fargate Profile is not a private subnet',
    );
    expect(messageOf(whyOfFailure(aFailure(subnet), ASKER))).to.equal(
      'AWS refused the request: Subnet subnet-0a provided in Fargate Profile is not a private subnet ' +
        '(EKS CreateFargateProfile: InvalidParameterException). ' +
        'Correct the spec, or what it names in AWS; it is tried again by itself.',
    );
    expect(
      messageOf(
        whyOfFailure(
          aFailure({ code: 'ResourceNotFoundException', statusCode: 404, message: 'No cluster found for name: prod.' }),
          ASKER,
        ),
      ),
    ).to.equal(
      'There is no EKS cluster "prod" in eu-west-1 of account 111122223333. ' +
        "Create the cluster, or correct the control plane's spec.eksClusterName and spec.region.",
    );
  });

  it('lets one that is throttled come back soon, however long it has waited for the limiter, and one without an answer not', () => {
    const pollAfter = (waited: number, code: string, statusCode: number): number =>
      pollOf(whyOfFailure(aFailure(eks(code, statusCode, 'x')), ASKER), waited);
    expect([0, 40_000].map((waited) => pollAfter(waited, 'ThrottlingException', 429))).to.deep.equal([2_000, 2_000]);
    expect([0, 40_000].map((waited) => pollAfter(waited, 'ServerException', 503))).to.deep.equal([2_000, 40_000]);
  });

  it('tells throttling from silence', () => {
    const throttled = eks('ThrottlingException', 429, 'Rate exceeded');
    expect(messageOf(whyOfFailure(aFailure(throttled), ASKER))).to.equal(
      'AWS throttles the requests: Rate exceeded (EKS CreateFargateProfile: ThrottlingException). It is asked again by itself.',
    );
    expect(messageOf(whyOfFailure(aFailureWithout(ours('NoAnswer', 'AWS: no result within 10 s')), ASKER))).to.equal(
      'AWS gives no usable answer: no answer within 10 s (EKS CreateFargateProfile). It is asked again by itself.',
    );
  });

  it('says whose credentials AWS rejects', () => {
    const expired = eks('ExpiredTokenException', 403, 'The security token included in the request is expired');
    const tellOf = (identity: IdentityRef | undefined) =>
      messageOf(whyOfFailure(aFailure(expired), { ...ASKER, identity }));
    expect(tellOf(undefined)).to.match(/^AWS rejects the credentials of the manager itself: The security token/);
    expect(tellOf({ kind: 'AWSClusterRoleIdentity', name: 'team-a' })).to.match(
      /^AWS rejects the credentials of AWSClusterRoleIdentity "team-a": The security token/,
    );
  });

  it('says the same of the same failure, whatever the request’s id', () => {
    const told = [1, 2].map((attempt) =>
      messageOf(
        whyOfFailure(
          aFailure({
            code: 'AccessDeniedException',
            statusCode: 403,
            message: `no (Service: Eks, Status Code: 403, Request ID: 0000000${attempt}-1111-2222-3333-444444444444) RequestId: 0000000${attempt}-1111-2222-3333-444444444444`,
            requestId: `0000000${attempt}-1111-2222-3333-444444444444`,
          }),
          ASKER,
        ),
      ),
    );
    expect(told[0]).to.equal(told[1]);
    expect(told[0]).not.to.include('1111-2222');
  });

  it('leaves it to AWS to come back, and what is wrong to people', () => {
    const natureFor = (failure: Partial<AwsFailure>): string => natureOf(whyOfFailure(aFailure(failure), ASKER));
    expect(natureFor({ code: 'ThrottlingException', statusCode: 429 })).to.equal('outage');
    expect(natureFor({ code: 'InvalidParameterException', statusCode: 400 })).to.equal('human');
    expect(natureFor({ code: 'ResourceLimitExceededException', statusCode: 400 })).to.equal('wait');
    expect(natureFor({ code: 'TeapotException', statusCode: 418 })).to.equal('retry');
  });
});

describe('whyOfCredentials', () => {
  const denied = aFailure({ service: 'sts', operation: 'AssumeRole', code: 'AccessDenied', statusCode: 403 });
  const down = aFailure({ service: 'sts', operation: 'GetCallerIdentity', code: 'NoAnswer' });
  const rows: readonly (readonly [string, CredentialsProblem, string | undefined])[] = [
    ['an interrupted pass', { reason: 'Interrupted', message: 'the manager stops' }, undefined],
    ['no credentials', { reason: 'CredentialsMissing', message: 'no AWS credentials' }, 'CredentialsMissing'],
    ['wrong credentials', { reason: 'CredentialsInvalid', message: 'no', failure: denied }, 'CredentialsInvalid'],
    ['STS not answering', { reason: 'AccountUnknown', message: 'no', failure: down }, 'AWSUnavailable'],
    ['STS refusing', { reason: 'AccountUnknown', message: 'no', failure: denied }, 'AccessDenied'],
    ['an account nobody knows', { reason: 'AccountUnknown', message: 'no' }, 'CredentialsMissing'],
    ['an identity that is not there', { reason: 'IdentityNotFound', message: 'no' }, 'IdentityNotFound'],
    ['an identity that is not allowed', { reason: 'IdentityNotAllowed', message: 'no' }, 'IdentityNotAllowed'],
  ];
  for (const [situation, problem, reason] of rows) {
    it(`takes ${situation} for ${reason ?? 'nothing'}`, () => {
      expect(whyOfCredentials(problem, ASKER)?.reason).to.equal(reason);
    });
  }

  it('names the way out where the object would go without credentials', () => {
    const problem: CredentialsProblem = { reason: 'IdentityNotFound', message: 'it does not exist' };
    const told = [whyOfCredentials(problem, ASKER), whyOfCredentials(problem, ASKER, true)].map(
      (reason) => reason && messageOf(reason),
    );
    expect(told).to.deep.equal([
      'It does not exist. Create it, or correct the reference to it.',
      'It does not exist. Create it, or correct the reference to it; or set spec.deletionPolicy to Retain to let the object go and leave in AWS what is there.',
    ]);
  });

  it('is about the credentials, whatever it is', () => {
    for (const [, problem] of rows) {
      const found = whyOfCredentials(problem, ASKER);
      if (found !== undefined) expect(partOf(found)).to.equal(CREDENTIALS);
    }
  });
});

/** A failure of ours has no status code. */
function aFailureWithout(failure: Partial<AwsFailure>): AwsFailure {
  const { statusCode: _default, ...rest } = aFailure();
  return { ...rest, ...failure };
}
