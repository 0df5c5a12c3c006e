import { expect } from 'chai';
import type { FaultKind } from '../aws/faults.ts';
import { ROLE_IDENTITY, trustPolicyFor, userArn } from '../world/aws/identities.ts';
import { put } from './phases/identity-objects.ts';
import { patchControlPlane, patchWeb, startAndApply, startUntilReady } from './phases/phase.ts';
import { ACCOUNT, MINUTE } from './world/cluster.ts';
import { it } from './world/it.ts';
import type { SimulatedWorld } from './world/simulated-world.ts';

const MANAGER = `User: ${userArn(ACCOUNT, 'manager-1')}`;
const EXPIRED = 'Signature expired: 20260101T000000Z is now earlier than 20260101T001000Z (20260101T001500Z - 5 min.)';

const fail = (world: SimulatedWorld, operation: string, error: `${string}:${string}`): void =>
  void world.aws.admin.addFault({ operation, kind: `error:${error}` satisfies FaultKind });

describe('the words of AWS, not its error code alone, decide', () => {
  const NOT_OFFERED =
    'Allow eks:CreateFargateProfile for the credentials that the controller uses. ' +
    'If this is allowed, AWS may not offer EKS Fargate in region "us-east-1" or to account 123456789012: ask AWS Support. ';
  for (const [operation, error, remedy, quote = ''] of [
    [
      'CreateFargateProfile',
      `AccessDeniedException:Account ${ACCOUNT} is not authorized to use this service`,
      NOT_OFFERED,
      ` AWS says: Account ${ACCOUNT} is not authorized to use this service (EKS CreateFargateProfile: AccessDeniedException).`,
    ],
    [
      'CreateFargateProfile',
      'AccessDeniedException:',
      NOT_OFFERED,
      ' AWS says: no reason given (EKS CreateFargateProfile: AccessDeniedException).',
    ],
    [
      'CreateFargateProfile',
      'AccessDeniedException:Unable to determine service/operation name to be authorized',
      NOT_OFFERED,
    ],
    [
      'CreateFargateProfile',
      `AccessDeniedException:${MANAGER} is not authorized to perform: iam:PassRole on resource: arn:aws:iam::1:role/x because no permissions boundary allows the iam:PassRole action`,
      'Allow iam:PassRole in the permissions boundary of the user or role of these credentials. ',
    ],
    [
      'CreateRole',
      `AccessDenied:${MANAGER} is not authorized to perform: iam:CreateRole on resource: arn:aws:iam::1:role/x with an explicit deny in a service control policy: arn:aws:organizations::1:policy/o-1/service_control_policy/p-1`,
      'Remove the denial of iam:CreateRole from the service control policies of AWS Organizations, or set spec.roleARN to an existing role. If your IAM policy allows iam:CreateRole only with a permissions boundary, set spec.rolePermissionsBoundary. ',
    ],
  ] as const)
    it(`about the remedy for ${error}`, async (world) => {
      fail(world, operation, error);
      startAndApply(world);
      expect(await world.reason('web', 'AccessDenied')).to.contain(
        `AWS denies a request from the controller. ${remedy}The controller keeps retrying.${quote}`,
      );
      world.aws.admin.clearFaults();
      await world.ready('web');
    });

  it('about the remedy for an identity whose role AWS Organizations denies', async (world) => {
    const trustPolicy = trustPolicyFor(userArn(ACCOUNT, 'manager-1'));
    const { arn: roleARN } = world.aws.admin.putRole({ name: 'fargate', trustPolicy });
    put(world, ROLE_IDENTITY, 'team-a', { roleARN });
    patchControlPlane(world, { spec: { identityRef: { kind: ROLE_IDENTITY, name: 'team-a' } } });
    fail(
      world,
      'AssumeRole',
      `AccessDenied:${MANAGER} is not authorized to perform: sts:AssumeRole on resource: ${roleARN} with an explicit deny in a resource control policy`,
    );
    startAndApply(world);
    expect(await world.reason('web', 'AssumeRoleDenied'))
      .to.contain('Remove the denial of sts:AssumeRole from the resource control policies of AWS Organizations. ')
      .and.not.to.contain('external ID');
    world.aws.admin.clearFaults();
    await world.ready('web');
  });

  for (const [service, code] of [
    ['eks', 'InvalidSignatureException'],
    ['iam', 'SignatureDoesNotMatch'],
    ['*', 'RequestExpired'],
  ] as const)
    it(`about an expired signature: ${code} leaves a Ready profile Ready, and its credentials in use`, async (world) => {
      world.start('--sync-period', '1m');
      world.applyWith('web', {});
      await world.ready('web');
      fail(world, service === '*' ? '*' : `${service}:*`, `${code}:${EXPIRED}`);
      await world.clock.advance(10 * MINUTE);
      for (const type of ['Ready', 'CredentialsReady', 'EKSFargateProfileReady', 'IAMFargateRolesReady'])
        expect(world.condition('web', type), type).to.deep.include({ status: 'True' });
      await world.clock.advance(10 * MINUTE);
      expect(world.condition('web')).to.deep.include({ status: 'Unknown', reason: 'AWSUnavailable' });
      expect(world.condition('web')?.message)
        .to.contain('AWS rejects the time in the signature of a request')
        .and.to.contain('AWS says: Signature expired (')
        .and.to.contain("check the clock of the manager's node");
      expect(world.warnings().join('\n')).not.to.contain('CredentialsInvalid');
      world.aws.admin.clearFaults();
      await world.ready('web');
    });

  it('about the resource that does not exist', async (world) => {
    await startUntilReady(world);
    fail(world, 'eks:TagResource', 'NotFoundException:The specified resource does not exist.');
    patchWeb(world, { spec: { additionalTags: { team: 'shop' } } });
    expect(await world.reason('web', 'AWSError', 'Reconciling'))
      .to.contain(
        'AWS reports that Fargate profile "default_web" does not exist, although AWS returned it shortly before. If',
      )
      .and.to.contain(' AWS says: The specified resource does not exist. (EKS TagResource: NotFoundException).');
    world.aws.admin.clearFaults();
    await world.ready('web');
  });

  it('about the field, if they name none and the spec has a namespace that Kubernetes cannot have', async (world) => {
    startAndApply(world, { selectors: [{ namespace: 'web' }, { namespace: 'kafka_east_1' }] });
    expect(await world.reason('web', 'Refused')).to.equal(
      'AWS rejects a request from the controller. Fix spec.selectors[1].namespace "kafka_east_1": ' +
        'the name of a Kubernetes namespace has only lower-case letters, digits, and hyphens, begins and ends with a letter or digit, and may have the wildcards * and ? here. The controller keeps retrying. ' +
        'AWS says: The namespace provided is invalid. (EKS CreateFargateProfile: InvalidParameterException).',
    );
    patchWeb(world, { spec: { selectors: [{ namespace: 'kafka-east-1' }] } });
    await world.ready('web');
  });
});
