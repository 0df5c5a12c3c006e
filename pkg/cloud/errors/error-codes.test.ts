import { expect } from 'chai';
import * as errors from './error-codes.ts';
import type { AwsFailure } from './failure.ts';

const failure = (code: string, message = '', statusCode?: number): AwsFailure => ({
  service: 'eks',
  operation: 'CreateFargateProfile',
  code,
  message,
  ...(statusCode !== undefined && { statusCode }),
});

const inUse = (message: string): AwsFailure => failure('ResourceInUseException', message, 409);
const invalid = (message: string): AwsFailure => failure('InvalidParameterException', message, 400);
const invalidRequest = (message: string): AwsFailure => failure('InvalidRequestException', message, 400);
const unsigned = (message: string): AwsFailure => failure('SignatureDoesNotMatch', message, 403);

const predicates = {
  isNotFound: errors.isNotFound,
  isClusterNotFound: errors.isClusterNotFound,
  isNameTaken: errors.isNameTaken,
  isSiblingBusy: (each: AwsFailure) => errors.busySibling(each) !== undefined,
  isClusterUpdating: errors.isClusterUpdating,
  isClusterNotActive: errors.isClusterNotActive,
  isRoleRejected: errors.isRoleRejected,
  isRoleNotVisible: errors.isRoleNotVisible,
  isQuotaExceeded: errors.isQuotaExceeded,
  isThrottled: errors.isThrottled,
  isRegionNotEnabled: errors.isRegionNotEnabled,
  isSignatureTimeRejected: errors.isSignatureTimeRejected,
  isCredentialsInvalid: errors.isCredentialsInvalid,
  isAccessDenied: errors.isAccessDenied,
  isUnavailable: errors.isUnavailable,
  isNotDispatched: errors.isNotDispatched,
  isNotPrepared: errors.isNotPrepared,
  isConcurrentModification: errors.isConcurrentModification,
  isDeleteConflict: errors.isDeleteConflict,
  isInvalidRequest: errors.isInvalidRequest,
};
type Name = keyof typeof predicates;

function meanings(of: AwsFailure): readonly string[] {
  return Object.entries(predicates)
    .filter(([, holds]) => holds(of))
    .map(([name]) => name);
}

/**
 * Failed AWS calls, most of them with messages from the real AWS services, each with the `predicates` that must accept
 * it. The other `predicates` must reject it.
 */
const table: readonly (readonly [AwsFailure, ...Name[]])[] = [
  [failure('ResourceNotFoundException', 'No Fargate Profile found with name: p.', 404), 'isNotFound'],
  [failure('ResourceNotFoundException', 'No cluster found for name: c.', 404), 'isNotFound', 'isClusterNotFound'],
  [failure('NotFoundException', 'Resource not found', 404), 'isNotFound'],
  [failure('NoSuchEntity', 'The role with name X cannot be found.', 404), 'isNotFound', 'isRoleNotVisible'],
  [failure('NoSuchEntityException', 'The role with name X cannot be found.', 404), 'isNotFound', 'isRoleNotVisible'],
  [failure('NoSuchEntity', 'Policy arn:aws:iam::1:policy/p does not exist.', 404), 'isNotFound'],
  [inUse('A Fargate Profile already exists with this name in this cluster.'), 'isNameTaken'],
  [failure('EntityAlreadyExists', 'Role with name X already exists.', 409), 'isNameTaken'],
  [
    inUse('Cannot create Fargate Profile b because cluster c currently has Fargate profile a in status CREATING'),
    'isSiblingBusy',
  ],
  [inUse('Cannot Delete Fargate Profile p because cluster c currently has an update in progress'), 'isClusterUpdating'],
  [inUse('Something new')],
  [invalidRequest("Cluster 'c' is not in ACTIVE status"), 'isClusterNotActive'],
  [
    invalid(
      'Misconfigured PodExecutionRole Trust Policy; Please add the eks-fargate-pods.amazonaws.com Service Principal',
    ),
    'isRoleRejected',
  ],
  [
    invalid('Role with arn: arn:aws:iam::111122223333:role/r could not be assumed because it does not exist'),
    'isRoleRejected',
  ],
  [failure('ResourcePropagationDelayException', 'still propagating', 428), 'isRoleRejected'],
  [failure('ResourceLimitExceededException', 'Fargate Profile limit exceeded for cluster.', 400), 'isQuotaExceeded'],
  [failure('LimitExceeded', 'Cannot exceed quota for RolesPerAccount: 1000', 409), 'isQuotaExceeded'],
  [failure('ThrottlingException', 'Rate exceeded', 429), 'isThrottled'],
  [failure('TooManyRequestsException', 'Too Many Requests', 429), 'isThrottled'],
  [failure('Throttling', 'Rate exceeded', 400), 'isThrottled'],
  [failure('AccessDenied', 'User: x is not authorized to perform: iam:GetRole', 403), 'isAccessDenied'],
  [failure('AccessDeniedException', 'no', 403), 'isAccessDenied'],
  [
    invalidRequest(
      "Failed to validate if SLR: AWSServiceRoleForAmazonEKSForFargate already exists due to missing permissions for 'iam:GetRole",
    ),
    'isAccessDenied',
  ],
  [failure('ExpiredToken', 'The security token included in the request is expired', 403), 'isCredentialsInvalid'],
  [failure('ExpiredTokenException', 'expired', 403), 'isCredentialsInvalid'],
  [failure('UnrecognizedClientException', 'The security token is invalid.', 403), 'isCredentialsInvalid'],
  [failure('InvalidClientTokenId', 'The security token is invalid.', 403), 'isCredentialsInvalid'],
  [
    { ...failure('UnrecognizedClientException', 'The security token is invalid.', 403), acceptedIn: 'us-east-1' },
    'isRegionNotEnabled',
  ],
  [unsigned('The request signature we calculated does not match'), 'isCredentialsInvalid'],
  [
    unsigned('Signature expired: 20260101T000000Z is now earlier than 20260101T001000Z (20260101T001500Z - 5 min.)'),
    'isSignatureTimeRejected',
  ],
  [
    failure('InvalidSignatureException', 'Signature not yet current: 20260101T002000Z is still later than …', 403),
    'isSignatureTimeRejected',
  ],
  [failure('AccessDeniedException', 'Signature expired: 20260101T000000Z is now …', 403), 'isSignatureTimeRejected'],
  [failure('RequestExpired', 'Request has expired.', 400), 'isSignatureTimeRejected'],
  [failure('RequestTimeTooSkewed', 'The difference is too large.', 403), 'isSignatureTimeRejected'],
  [failure('BadRequestException', 'The tag "x: Signature expired" is invalid', 400), 'isInvalidRequest'],
  [failure('NoCredentials', 'nothing found'), 'isCredentialsInvalid', 'isNotDispatched'],
  [failure('NoAnswer', 'no answer within 10 s'), 'isUnavailable'],
  [failure('ServerException', 'oops', 500), 'isUnavailable'],
  [failure('ServiceUnavailableException', 'oops', 503), 'isUnavailable'],
  [failure('Undecodable', 'HTTP 503', 503), 'isUnavailable'],
  [failure('Undecodable', 'HTTP 200', 200)],
  [failure('NotDispatched', 'the lease runs out'), 'isNotDispatched'],
  [failure('NotPrepared', 'Region not accepted'), 'isNotPrepared'],
  [failure('ConcurrentModification', 'try again', 409), 'isConcurrentModification'],
  [failure('DeleteConflict', 'Cannot delete entity, must detach all policies first.', 409), 'isDeleteConflict'],
  [invalid('Subnet subnet-1 provided in Fargate Profile is not a private subnet'), 'isInvalidRequest'],
  [failure('MalformedPolicyDocument', 'Syntax errors in policy.', 400), 'isInvalidRequest'],
  [failure('ValidationError', '1 validation error detected', 400), 'isInvalidRequest'],
];

describe('AWS errors', () => {
  it('have a row for each predicate', () => {
    const named = new Set(table.flatMap(([, ...wanted]) => wanted));
    expect([...named]).to.have.members(Object.keys(predicates));
    const exported = Object.keys(errors).filter((name) => name.startsWith('is'));
    const withOwnTests = ['isRefused', 'isEntryExisting', 'isInvalidPrincipal'];
    expect([...Object.keys(predicates), ...withOwnTests]).to.include.members(exported);
  });

  for (const [given, ...wanted] of table) {
    it(`${given.code} "${given.message}" means ${wanted.join(', ') || 'no known error'}`, () => {
      expect(meanings(given)).to.have.members(wanted);
      expect(meanings({ ...given, message: given.message.toUpperCase() })).to.have.members(wanted);
    });
  }

  for (const [given, wanted] of [
    [failure('AccessDeniedException', 'no', 403), true],
    [failure('ValidationError', 'too long', 400), true],
    [failure('UnrecognizedClientException', 'in another region', 403), false],
    [{ ...failure('UnrecognizedClientException', 'in this region', 403), acceptedIn: 'us-east-1' }, true],
    [failure('ThrottlingException', 'Rate exceeded', 400), false],
    [failure('Undecodable', 'HTTP 403', 403), false],
    [failure('ServerException', 'oops', 500), false],
    [failure('NoAnswer', 'no answer within 10 s'), false],
    [failure('NoCredentials', 'nothing found', 403), false],
    [unsigned('Signature expired: 20260101T000000Z is now …'), false],
  ] satisfies (readonly [AwsFailure, boolean])[])
    it(`${given.code} "${given.message}" ${wanted ? 'is' : 'is not'} an answer that refuses the call`, () => {
      expect(errors.isRefused(given)).to.equal(wanted);
    });

  it('of CreateAccessEntry tell an existing access entry from a role that EKS does not find', () => {
    const existing = inUse('The specified access entry resource is already in use.');
    const unknown = invalid('The specified principalArn is invalid.');
    const other = invalid('The specified type is invalid.');
    expect([existing, unknown, other].map(errors.isEntryExisting)).to.deep.equal([true, false, false]);
    expect([existing, unknown, other].map(errors.isInvalidPrincipal)).to.deep.equal([false, true, false]);
  });

  describe('busySibling', () => {
    const busy = (message: string): unknown => errors.busySibling(failure('ResourceInUseException', message));

    it('returns the profile, whatever case EKS uses', () => {
      expect(
        busy(
          'Cannot Delete Fargate Profile b because cluster c currently has Fargate Profile Größe_1 in Status deleting',
        ),
      ).to.deep.equal({ name: 'Größe_1', status: 'DELETING' });
    });

    it('returns undefined when EKS rejects the change for another reason', () => {
      expect(busy('A Fargate Profile already exists with this name in this cluster.')).to.deep.equal(undefined);
      expect(
        errors.busySibling(failure('InvalidRequestException', 'currently has Fargate profile a in status CREATING')),
      ).to.deep.equal(undefined);
    });
  });

  describe('describeFailure', () => {
    const words: readonly (readonly [string, string])[] = [
      ['Fargate Profile limit exceeded for cluster.', 'Fargate Profile limit exceeded for cluster. '],
      [
        'No role (Service: AmazonIdentityManagement; Status Code: 404; Error Code: NoSuchEntity; Request ID: 0b5a7c1e-aaaa-bbbb-cccc-0123456789ab; Proxy: null)',
        'No role ',
      ],
      ['It failed. RequestId: 0b5a7c1e-aaaa-bbbb-cccc-0123456789ab', 'It failed. '],
      ['It failed (request id 0b5a7c1e-aaaa-bbbb-cccc-0123456789ab)', 'It failed '],
      ['You may not. Encoded authorization failure message: AbCdEf_123-x', 'You may not. '],
      ['two\n  lines', 'two lines '],
      ['Signature expired: 20260101T000000Z is now earlier than 20260101T001000Z', 'Signature expired '],
      [
        'Signature expired: 20260101T000000Z is now earlier than 20260101T001000Z (20260101T002500Z - 15 min.)',
        'Signature expired (15 min.) ',
      ],
      [
        'Signature not yet current: 20260101T002000Z is still later than 20260101T001500Z (20260101T001000Z + 5 min.)',
        'Signature not yet current (5 min.) ',
      ],
      ['', 'no reason given '],
    ];
    for (const [message, wanted] of words) {
      it(JSON.stringify(message), () => {
        expect(errors.describeFailure(failure('ServerException', message))).to.equal(
          `${wanted}(EKS CreateFargateProfile: ServerException)`,
        );
      });
    }
  });
});
