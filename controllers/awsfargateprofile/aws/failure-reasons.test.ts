import { expect } from 'chai';
import type { AwsFailure, IdentityRef, CredentialsProblem } from '../../../pkg/cloud/index.ts';
import { DeadlineExceeded } from '../../../pkg/async/deadline.ts';
import { reasonForCredentials, reasonForFailure } from './failure-reasons.ts';
import { conditionTypeOf, isSilent, messageOf, natureOf, pollOf } from '../reasons/reasons.ts';
import { aFailure } from '../testing/builders.ts';

const CONTEXT = { eksCluster: 'prod', region: 'eu-west-1', account: '111122223333', identity: undefined };

type Row = readonly [
  situation: string,
  failure: Partial<AwsFailure>,
  reason: string,
  conditionType: string | undefined,
];

const eks = (code: string, statusCode: number, message: string): Partial<AwsFailure> => ({ code, statusCode, message });
const iam = (operation: string, code: string, statusCode: number, message: string): Partial<AwsFailure> => ({
  service: 'iam',
  operation,
  code,
  statusCode,
  message,
});
const clientFailure = (code: string, message: string): Partial<AwsFailure> => {
  const { statusCode: _none, ...failure } = aFailure({ code, message });
  return failure;
};

const EKS = 'EKSFargateProfileReady';
const IAM = 'IAMFargateRolesReady';
const CREDENTIALS = 'CredentialsReady';

/** Failures of calls to EKS and IAM, each with the expected reason and condition. */
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
    'an unknown EKS cluster',
    eks('ResourceNotFoundException', 404, 'No cluster found for name: prod.'),
    'EKSClusterNotFound',
    EKS,
  ],
  [
    'a missing permission of EKS',
    eks(
      'AccessDeniedException',
      403,
      'User: arn:aws:iam::111122223333:user/m is not authorized to perform: eks:CreateFargateProfile',
    ),
    'AccessDenied',
    EKS,
  ],
  [
    'a missing permission that EKS uses on behalf of the caller',
    eks(
      'InvalidRequestException',
      400,
      "Failed to validate if SLR: AWSServiceRoleForAmazonEKSForFargate already exists due to missing permissions for 'iam:GetRole",
    ),
    'AccessDenied',
    EKS,
  ],
  [
    'a missing permission of IAM',
    iam('CreateRole', 'AccessDenied', 403, 'User: x is not authorized to perform: iam:CreateRole on resource: y'),
    'AccessDenied',
    IAM,
  ],
  [
    'the quota of roles, unlike the quota of profiles',
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
    'a policy that does not exist',
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
    'a role that IAM found a moment ago and does not find now',
    iam('ListAttachedRolePolicies', 'NoSuchEntity', 404, 'The role with name pods cannot be found.'),
    'Propagating',
    undefined,
  ],
  [
    'a permissions boundary that does not exist',
    iam('CreateRole', 'NoSuchEntity', 404, 'Scope ARN: arn:aws:iam::aws:policy/x does not exist or is not attachable.'),
    'Refused',
    IAM,
  ],
  [
    'a trust policy that IAM rejects',
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
  ['no answer', clientFailure('NoAnswer', 'EKS DescribeFargateProfile: no result within 10 s'), 'AWSUnavailable', EKS],
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
  [
    'a region that is not enabled',
    { ...eks('UnrecognizedClientException', 403, 'The security token is invalid'), acceptedIn: 'eu-central-1' },
    'RegionNotEnabled',
    CREDENTIALS,
  ],
  [
    'expired credentials that were renewed meanwhile',
    { ...eks('ExpiredTokenException', 403, 'The security token has expired'), acceptedIn: 'eu-central-1' },
    'CredentialsInvalid',
    CREDENTIALS,
  ],
  [
    'a request that the SDK refuses',
    clientFailure('NotPrepared', 'Invalid Configuration: FIPS and custom endpoint are not supported'),
    'SDKRefused',
    EKS,
  ],
  [
    'a request that is not signed in time',
    { ...clientFailure('NotPrepared', 'no result'), cause: new DeadlineExceeded('preparing the request', 10_000) },
    'AWSUnavailable',
    EKS,
  ],
  ['an unknown error code', eks('TeapotException', 418, 'I am a teapot'), 'AWSError', EKS],
  ['an answer that cannot be decoded', clientFailure('Undecodable', 'fargateProfile.status: missing'), 'AWSError', EKS],
];

describe('reasonForFailure', () => {
  for (const [situation, failure, reason, conditionType] of ROWS) {
    it(`gives ${reason} for ${situation}`, () => {
      const found = reasonForFailure({ ...failureWithoutStatus(failure) }, CONTEXT);
      expect(found.name).to.equal(reason);
      expect(conditionTypeOf(found)).to.equal(conditionType);
    });
  }

  it('quotes the message of AWS, with the call that AWS answered', () => {
    const subnet = eks(
      'InvalidParameterException',
      400,
      'Subnet subnet-0a provided in Fargate Profile is not a private subnet',
    );
    expect(messageOf(reasonForFailure(aFailure(subnet), CONTEXT))).to.equal(
      'AWS rejects a request of the controller. AWS says: Subnet subnet-0a provided in Fargate Profile is not a private subnet ' +
        '(EKS CreateFargateProfile: InvalidParameterException). ' +
        'Correct spec.subnetIDs, or the AWS resource that it names. The controller retries on its own.',
    );
    expect(
      messageOf(
        reasonForFailure(
          aFailure({ code: 'ResourceNotFoundException', statusCode: 404, message: 'No cluster found for name: prod.' }),
          CONTEXT,
        ),
      ),
    ).to.equal(
      'EKS cluster "prod" does not exist in region eu-west-1 of account 111122223333. ' +
        'The provider of the control plane creates the EKS cluster: look at the conditions of the control plane. Or, if the EKS cluster exists elsewhere, correct spec.eksClusterName, spec.region or spec.identityRef of the control plane. The controller retries on its own.',
    );
  });

  for (const [subnets, correction] of [
    ['spec', 'Correct spec.subnetIDs, or the AWS resource that it names.'],
    [
      'controlPlane',
      'Correct spec.network.subnets of the control plane, or the AWS resource that it names. Or name other subnets in spec.subnetIDs.',
    ],
    [
      'status',
      'Correct the AWS resource that status.subnets names. Or create another AWSFargateProfile with selectors for the same pods, and delete this object when the new one is Ready.',
    ],
    ['eks', 'Name private subnets in spec.subnetIDs.'],
  ] as const) {
    it(`names the field of the subnets if AWS rejects subnets of: ${subnets}`, () => {
      const failure = eks('InvalidParameterException', 400, 'Subnet subnet-0a is not a private subnet');
      expect(messageOf(reasonForFailure(aFailure(failure), { ...CONTEXT, subnets }))).to.equal(
        'AWS rejects a request of the controller. AWS says: Subnet subnet-0a is not a private subnet (EKS CreateFargateProfile: InvalidParameterException). ' +
          `${correction} The controller retries on its own.`,
      );
    });
  }

  for (const [message, operation, field] of [
    [
      'Scope ARN: arn:aws:iam::aws:policy/nowhere does not exist',
      'PutRolePermissionsBoundary',
      'spec.rolePermissionsBoundary',
    ],
    ['Policy arn:aws:iam::aws:policy/nowhere does not exist', 'AttachRolePolicy', 'spec.roleAdditionalPolicies'],
    ['Label cannot be empty in selectors', 'CreateFargateProfile', 'spec.selectors'],
    ['Tag keys are case-insensitive', 'TagRole', 'spec.additionalTags'],
    ['The request is not valid', 'CreateFargateProfile', 'the spec'],
  ] as const) {
    it(`names ${field} when AWS rejects ${operation} because "${message}"`, () => {
      const failure = eks('InvalidParameterException', 400, message);
      expect(messageOf(reasonForFailure({ ...aFailure(failure), operation }, CONTEXT))).to.include(
        `Correct ${field}, or`,
      );
    });
  }

  it('polls soon after throttling, however long the object has waited, and backs off from a failing service', () => {
    const pollAfter = (waited: number, code: string, statusCode: number): number =>
      pollOf(reasonForFailure(aFailure(eks(code, statusCode, 'x')), CONTEXT), waited);
    expect([0, 40_000].map((waited) => pollAfter(waited, 'ThrottlingException', 429))).to.deep.equal([2_000, 2_000]);
    expect([0, 40_000].map((waited) => pollAfter(waited, 'ServerException', 503))).to.deep.equal([2_000, 40_000]);
  });

  it('words throttling and a missing answer differently', () => {
    const throttled = eks('ThrottlingException', 429, 'Rate exceeded');
    expect(messageOf(reasonForFailure(aFailure(throttled), CONTEXT))).to.equal(
      'AWS throttles the requests of the controller. AWS says: Rate exceeded (EKS CreateFargateProfile: ThrottlingException). The controller retries on its own.',
    );
    expect(
      messageOf(
        reasonForFailure(failureWithoutStatus(clientFailure('NoAnswer', 'AWS: no result within 10 s')), CONTEXT),
      ),
    ).to.equal(
      'AWS gives no usable answer to a request of the controller: no answer within 10 s (EKS CreateFargateProfile). If this lasts for more than ten minutes, look at the network between the manager and AWS: proxy, firewall, VPC endpoint. The controller retries on its own.',
    );
  });

  it('names the identity whose credentials AWS rejects', () => {
    const expired = eks('ExpiredTokenException', 403, 'The security token included in the request is expired');
    const messageFor = (identity: IdentityRef | undefined) =>
      messageOf(reasonForFailure(aFailure(expired), { ...CONTEXT, identity }));
    expect(messageFor(undefined)).to.match(
      /^AWS rejects the credentials of the manager itself\. AWS says: The security token/,
    );
    expect(messageFor({ kind: 'AWSClusterRoleIdentity', name: 'team-a' })).to.match(
      /^AWS rejects the credentials of AWSClusterRoleIdentity "team-a"\. AWS says: The security token/,
    );
  });

  it('gives the same message for each request id of the same failure', () => {
    const messages = [1, 2].map((attempt) =>
      messageOf(
        reasonForFailure(
          aFailure({
            code: 'AccessDeniedException',
            statusCode: 403,
            message: `no (Service: Eks, Status Code: 403, Request ID: 0000000${attempt}-1111-2222-3333-444444444444) RequestId: 0000000${attempt}-1111-2222-3333-444444444444`,
            requestId: `0000000${attempt}-1111-2222-3333-444444444444`,
          }),
          CONTEXT,
        ),
      ),
    );
    expect(messages[0]).to.equal(messages[1]);
    expect(messages[0]).not.to.include('1111-2222');
  });

  it('gives each failure its nature: outage, human, wait or retry', () => {
    const natureFor = (failure: Partial<AwsFailure>): string => natureOf(reasonForFailure(aFailure(failure), CONTEXT));
    expect(natureFor({ code: 'ThrottlingException', statusCode: 429 })).to.equal('outage');
    expect(natureFor({ code: 'InvalidParameterException', statusCode: 400 })).to.equal('human');
    expect(natureFor({ code: 'ResourceLimitExceededException', statusCode: 400 })).to.equal('wait');
    expect(natureFor({ code: 'TeapotException', statusCode: 418 })).to.equal('retry');
  });
});

describe('reasonForCredentials', () => {
  const denied = aFailure({ service: 'sts', operation: 'AssumeRole', code: 'AccessDenied', statusCode: 403 });
  const down = aFailure({ service: 'sts', operation: 'GetCallerIdentity', code: 'NoAnswer' });
  const rows: readonly (readonly [string, CredentialsProblem, string])[] = [
    ['no credentials', { reason: 'CredentialsMissing', message: 'no AWS credentials' }, 'CredentialsMissing'],
    ['wrong credentials', { reason: 'CredentialsInvalid', message: 'no', failure: denied }, 'CredentialsInvalid'],
    ['STS not answering', { reason: 'AccountUnknown', message: 'no', failure: down }, 'AWSUnavailable'],
    ['STS refusing', { reason: 'AccountUnknown', message: 'no', failure: denied }, 'AccessDenied'],
    ['an unknown account', { reason: 'AccountUnknown', message: 'no' }, 'CredentialsMissing'],
    ['a region that cannot exist', { reason: 'RegionInvalid', message: 'no' }, 'RegionInvalid'],
    ['an identity that does not exist', { reason: 'IdentityNotFound', message: 'no' }, 'IdentityNotFound'],
    [
      'an identity that the namespace may not use',
      { reason: 'IdentityNotAllowed', message: 'no' },
      'IdentityNotAllowed',
    ],
  ];
  for (const [situation, problem, reason] of rows) {
    it(`gives ${reason} for ${situation}`, () => {
      expect(reasonForCredentials(problem, CONTEXT).name).to.equal(reason);
    });
  }

  it('names the way to end the deletion of an object without credentials', () => {
    const missing = 'AWSClusterStaticIdentity "a"';
    const problem: CredentialsProblem = { reason: 'IdentityNotFound', message: 'it does not exist', missing };
    const messages = [undefined, 'retain' as const, 'removeFinalizer' as const].map((abandonment) => {
      return messageOf(reasonForCredentials(problem, { ...CONTEXT, abandonment }));
    });
    expect(messages).to.deep.equal([
      'It does not exist. Create AWSClusterStaticIdentity "a", or correct the reference to it. The controller then continues on its own.',
      'It does not exist. Create AWSClusterStaticIdentity "a", or correct the reference to it. The controller then continues on its own. Or set spec.deletionPolicy to Retain: then the deletion of this object ends, and its profile and role stay in AWS.',
      'It does not exist. Create AWSClusterStaticIdentity "a", or correct the reference to it. The controller then continues on its own. Or, if you can no longer get credentials for the AWS account, remove awsfargateprofile.infrastructure.cluster.x-k8s.io from metadata.finalizers of this object: then the deletion of this object ends, and its profile and role stay in AWS.',
    ]);
    const deleted = { code: 'UnrecognizedClientException', statusCode: 403 };
    const rejected = reasonForFailure(aFailure(deleted), { ...CONTEXT, abandonment: 'retain' });
    expect(rejected.name).to.equal('CredentialsInvalid');
    expect(messageOf(rejected)).to.contain('Or set spec.deletionPolicy to Retain');
  });

  it('says where to renew rejected credentials, also if a role identity gets them from the manager itself', () => {
    const identity = { kind: 'AWSClusterRoleIdentity', name: 'tenant' } as const;
    const messageFor = (whose: string): string => {
      const problem: CredentialsProblem = { reason: 'CredentialsInvalid', message: 'AWS rejects them', whose };
      return messageOf(reasonForCredentials(problem, { ...CONTEXT, identity }));
    };
    expect(messageFor('the manager itself')).to.contain('from which the pod of the manager gets them');
    expect(messageFor('AWSClusterStaticIdentity "base"')).to.contain('in its Secret').and.not.to.contain('pod');
    const rejection = aFailure({ code: 'UnrecognizedClientException', statusCode: 403 });
    expect(messageOf(reasonForFailure(rejection, { ...CONTEXT, identity }))).to.contain('in its Secret');
    expect(messageOf(reasonForFailure(rejection, { ...CONTEXT, identity: undefined }))).to.contain('the pod of the');
  });

  it('reports every problem in CredentialsReady', () => {
    for (const [, problem] of rows)
      expect(conditionTypeOf(reasonForCredentials(problem, CONTEXT))).to.equal(CREDENTIALS);
  });

  it('reports nothing about an interrupted pass', () => {
    const interrupted: CredentialsProblem = { reason: 'Interrupted', message: 'the manager stops' };
    expect(isSilent(reasonForCredentials(interrupted, CONTEXT))).to.equal(true);
  });
});

function failureWithoutStatus(failure: Partial<AwsFailure>): AwsFailure {
  const { statusCode: _default, ...rest } = aFailure();
  return { ...rest, ...failure };
}
