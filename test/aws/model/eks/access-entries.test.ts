import { expect } from 'chai';
import type { ConfigPatch } from '../config.ts';
import type { Output } from '../context.ts';
import { account, expectRefusal, fargateTrust, ModelFixture } from '../model-fixture.ts';
import type { AuthenticationMode } from '../resources.ts';
import { Instant } from '../time.ts';
import { canPodsJoin } from './access-entries.ts';

const principalArn = `arn:aws:iam::${account}:role/pods`;
const which = { clusterName: 'c', principalArn };

describe('EKS access entries', () => {
  let fixture: ModelFixture;

  const begin = (authenticationMode: AuthenticationMode, config: ConfigPatch = {}): void => {
    fixture = new ModelFixture(config);
    fixture.cluster.authenticationMode = authenticationMode;
  };
  const describeEntry = (): Output => fixture.run('eks', 'DescribeAccessEntry', which)['accessEntry'] as Output;
  const canJoin = (): boolean => canPodsJoin(fixture.cluster, fixture.model.state.account(account), principalArn);

  function recreateRole(): void {
    fixture.run('iam', 'DeleteRole', { RoleName: 'pods' });
    fixture.run('iam', 'CreateRole', { RoleName: 'pods', AssumeRolePolicyDocument: fargateTrust });
    fixture.advance(60_000);
  }

  function deleteProfile(name: string): void {
    fixture.run('eks', 'DeleteFargateProfile', { clusterName: 'c', fargateProfileName: name });
    fixture.advance(2_000);
  }

  it('are made by EKS for the role of a new profile, and let its pods join', () => {
    begin('API');
    const createdAt = fixture.now;
    fixture.createActive('p');
    const entry = describeEntry();
    expect(entry).to.deep.include({
      clusterName: 'c',
      principalArn,
      type: 'FARGATE_LINUX',
      username: 'system:node:{{SessionName}}',
      kubernetesGroups: [],
      createdAt: new Instant(createdAt),
    });
    expect(entry['accessEntryArn']).to.match(/:access-entry\/c\/role\/111122223333\/pods\/[0-9a-f-]{36}$/);
    expect(JSON.stringify(entry)).not.to.include('AROA');
    expect(canJoin()).to.equal(true);
  });

  it('stay bound to a deleted role, also when a profile is created with a role of the same name', () => {
    begin('API');
    fixture.createActive('p');
    const { createdAt } = describeEntry();
    deleteProfile('p');
    recreateRole();
    fixture.createActive('p');
    expect(describeEntry()['createdAt']).to.deep.equal(createdAt);
    expect(canJoin()).to.equal(false);
  });

  it('are recreated by EKS for the next profile after a client has deleted them', () => {
    begin('API');
    fixture.createActive('p');
    fixture.run('eks', 'DeleteAccessEntry', which);
    expect(canJoin()).to.equal(false);
    fixture.createActive('q');
    expect(canJoin()).to.equal(true);
  });

  it('are not recreated where a test wants this', () => {
    begin('API', { eks: { accessEntryMadeAnew: false } });
    fixture.createActive('p');
    fixture.run('eks', 'DeleteAccessEntry', which);
    fixture.createActive('q');
    expect(canJoin()).to.equal(false);
    expect(fixture.refused('eks', 'DescribeAccessEntry', which).code).to.equal('ResourceNotFoundException');
  });

  it('are created by a client for a role that EKS sees', () => {
    begin('API_AND_CONFIG_MAP', { iam: { trustVisibleToEksMs: 5_000 } });
    fixture.run('iam', 'CreateRole', { RoleName: 'new', AssumeRolePolicyDocument: fargateTrust });
    const input = { clusterName: 'c', principalArn: `arn:aws:iam::${account}:role/new`, type: 'FARGATE_LINUX' };
    const message = 'The specified principalArn is invalid: invalid principal.';
    expectRefusal(fixture.refused('eks', 'CreateAccessEntry', input), 'InvalidParameterException', 400, message);
    fixture.advance(5_000);
    fixture.run('eks', 'CreateAccessEntry', input);
    const taken = 'The specified access entry resource is already in use on this cluster.';
    expectRefusal(fixture.refused('eks', 'CreateAccessEntry', input), 'ResourceInUseException', 409, taken);
  });

  it('are found and deleted only if they exist', () => {
    begin('API');
    const missing =
      "The specified principalArn could not be found. You can view your available access entries with 'list-access-entries'.";
    for (const operation of ['DescribeAccessEntry', 'DeleteAccessEntry']) {
      expectRefusal(fixture.refused('eks', operation, which), 'ResourceNotFoundException', 404, missing);
      const elsewhere = fixture.refused('eks', operation, { ...which, clusterName: 'nope' });
      expectRefusal(elsewhere, 'ResourceNotFoundException', 404, 'No cluster found for name: nope.');
    }
  });

  it('win over the ConfigMap aws-auth, which serves a role without an access entry unless the mode is API', () => {
    begin('API_AND_CONFIG_MAP');
    fixture.cluster.awsAuthRoleArns = [principalArn];
    fixture.createActive('p');
    recreateRole();
    expect(canJoin()).to.equal(false);
    fixture.run('eks', 'DeleteAccessEntry', which);
    expect(canJoin()).to.equal(true);
    fixture.cluster.authenticationMode = 'API';
    expect(canJoin()).to.equal(false);
  });

  it('do not exist in the mode CONFIG_MAP, in which EKS writes the ConfigMap aws-auth', () => {
    begin('CONFIG_MAP');
    fixture.createActive('p');
    recreateRole();
    expect(canJoin()).to.equal(true);
    const message =
      "The cluster's authentication mode must be set to one of [API, API_AND_CONFIG_MAP] to perform this operation.";
    for (const operation of ['CreateAccessEntry', 'DescribeAccessEntry', 'DeleteAccessEntry']) {
      expectRefusal(fixture.refused('eks', operation, which), 'InvalidRequestException', 400, message);
    }
  });

  it('need a permission on the access entry or the cluster', () => {
    begin('API');
    fixture.createActive('p');
    fixture.model.principals.deny({ principal: fixture.caller.arn, action: 'eks:DeleteAccessEntry' });
    const error = fixture.refused('eks', 'DeleteAccessEntry', which);
    expect([error.code, error.status]).to.deep.equal(['AccessDeniedException', 403]);
    expect(error.message).to.include(':access-entry/c/role/111122223333/pods/');
  });
});
