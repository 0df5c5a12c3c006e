import { expect } from 'chai';
import { account, ModelFixture, fargateTrust } from '../model-fixture.ts';
import { type Input, isRecord } from '../input.ts';
import type { Output } from '../context.ts';

const podPolicy = 'arn:aws:iam::aws:policy/AmazonEKSFargatePodExecutionRolePolicy';

describe('IAM roles', () => {
  let fixture: ModelFixture;
  const run = (operation: string, input: Input): Output => fixture.run('iam', operation, input);
  const refused = (operation: string, input: Input): readonly [string, number, string] => {
    const error = fixture.refused('iam', operation, input);
    return [error.code, error.status, error.message];
  };
  const role = (name: string, change: Input = {}): Input => ({
    RoleName: name,
    AssumeRolePolicyDocument: fargateTrust,
    ...change,
  });
  const getRole = (name: string): Input => {
    const { Role } = run('GetRole', { RoleName: name });
    return isRecord(Role) ? Role : {};
  };

  beforeEach(() => {
    fixture = new ModelFixture();
  });

  it('have names that are unique ignoring case', () => {
    run('CreateRole', role('Mixed'));
    expect(getRole('mIXED')['RoleName']).to.equal('Mixed');
    expect(refused('CreateRole', role('MIXED'))).to.deep.equal([
      'EntityAlreadyExists',
      409,
      'Role with name MIXED already exists.',
    ]);
    expect(refused('GetRole', { RoleName: 'nobody' })).to.deep.equal([
      'NoSuchEntity',
      404,
      'The role with name nobody cannot be found.',
    ]);
  });

  it('encode all reserved characters of RFC 3986', () => {
    run('CreateRole', role('r', { AssumeRolePolicyDocument: fargateTrust.replace('/c/*', "/(c)!'*") }));
    expect(getRole('r')['AssumeRolePolicyDocument']).to.contain('%28c%29%21%27%2A');
  });

  const malformed: readonly (readonly [string, Input, string])[] = [
    ['a name of 65 characters', { RoleName: 'r'.repeat(65) }, 'ValidationError'],
    ['a name with a space', { RoleName: 'a b' }, 'ValidationError'],
    ['no name', { RoleName: undefined }, 'ValidationError'],
    ['a path without slashes', { Path: 'team' }, 'ValidationError'],
    ['a trust policy that is not JSON', { AssumeRolePolicyDocument: '{' }, 'MalformedPolicyDocument'],
    ['a trust policy with a Resource', { AssumeRolePolicyDocument: withResource() }, 'MalformedPolicyDocument'],
    ['a boundary that does not exist', { PermissionsBoundary: 'arn:aws:iam::aws:policy/No' }, 'NoSuchEntity'],
    ['a reserved tag', { Tags: [{ Key: 'aws:a', Value: '' }] }, 'InvalidInput'],
    ['a tag with a newline', { Tags: [{ Key: 'a\n', Value: '' }] }, 'ValidationError'],
  ];
  for (const [what, change, code] of malformed) {
    it(`are not created with ${what}`, () => {
      expect(refused('CreateRole', role('r', change))[0]).to.equal(code);
    });
  }

  it('name the violated constraint', () => {
    expect(refused('CreateRole', role('r'.repeat(65)))[2]).to.equal(
      `1 validation error detected: Value '${'r'.repeat(65)}' at 'roleName' failed to satisfy constraint: Member must have length less than or equal to 64`,
    );
  });

  it('limit the trust policy without white space', () => {
    const long = JSON.stringify({ ...JSON.parse(fargateTrust), Id: 'x'.repeat(2_048) });
    expect(refused('CreateRole', role('r', { AssumeRolePolicyDocument: long }))).to.deep.equal([
      'LimitExceeded',
      409,
      'Cannot exceed quota for ACLSizePerRole: 2048',
    ]);
    run('CreateRole', role('r', { AssumeRolePolicyDocument: fargateTrust + ' '.repeat(2_048) }));
  });

  it('have a quota', () => {
    fixture = new ModelFixture({ iam: { maxRoles: 1 } });
    expect(refused('CreateRole', role('r'))).to.deep.equal([
      'LimitExceeded',
      409,
      'Cannot exceed quota for RolesPerAccount: 1',
    ]);
  });

  it('record an incident when they are deleted while a profile uses them', () => {
    fixture.createActive('p');
    run('DeleteRole', { RoleName: 'pods' });
    expect(fixture.model.state.incidents.map(({ kind, subject }) => [kind, subject])).to.deep.equal([
      ['roleDeletedUnderProfile', `arn:aws:iam::${account}:role/pods`],
    ]);
  });

  describe('policies', () => {
    it('have a quota for each role', () => {
      for (let index = 0; index < 10; index += 1) {
        const arn = `arn:aws:iam::${account}:policy/p${index}`;
        fixture.model.state.account(account).policies.add(arn);
        run('AttachRolePolicy', { RoleName: 'pods', PolicyArn: arn });
      }
      expect(refused('AttachRolePolicy', { RoleName: 'pods', PolicyArn: podPolicy })[0]).to.equal('LimitExceeded');
    });

    it('are paged', () => {
      run('AttachRolePolicy', { RoleName: 'pods', PolicyArn: podPolicy });
      run('AttachRolePolicy', { RoleName: 'pods', PolicyArn: 'arn:aws:iam::aws:policy/ReadOnlyAccess' });
      const first = run('ListAttachedRolePolicies', { RoleName: 'pods', MaxItems: 1 });
      expect([first['IsTruncated'], first['AttachedPolicies']]).to.deep.equal([
        true,
        [{ PolicyName: 'AmazonEKSFargatePodExecutionRolePolicy', PolicyArn: podPolicy }],
      ]);
      const second = run('ListAttachedRolePolicies', { RoleName: 'pods', MaxItems: 1, Marker: first['Marker'] });
      expect(second['IsTruncated']).to.equal(false);
    });
  });

  it('have tags with letters, digits, and spaces of any language', () => {
    const tag = { Key: '𝒳'.repeat(128), Value: 'Équipe Données ٣' };
    run('TagRole', { RoleName: 'pods', Tags: [tag] });
    expect(getRole('pods')['Tags']).to.deep.include(tag);
    expect(refused('TagRole', { RoleName: 'pods', Tags: [{ Key: 'a', Value: 'b;c' }] })[0]).to.equal('ValidationError');
  });

  it('replace and remove tags ignoring the case of keys', () => {
    run('TagRole', {
      RoleName: 'pods',
      Tags: [
        { Key: 'Team', Value: '1' },
        { Key: 'b', Value: '' },
      ],
    });
    run('TagRole', { RoleName: 'pods', Tags: [{ Key: 'team', Value: '2' }] });
    expect(getRole('pods')['Tags']).to.deep.equal([
      { Key: 'b', Value: '' },
      { Key: 'team', Value: '2' },
    ]);
    run('UntagRole', { RoleName: 'pods', TagKeys: ['TEAM'] });
    expect(getRole('pods')['Tags']).to.deep.equal([{ Key: 'b', Value: '' }]);
  });

  describe('eventual consistency', () => {
    it('hides a new role from reads, while a second create conflicts', () => {
      fixture = new ModelFixture({ iam: { readAfterCreateMs: 1_000 } });
      run('CreateRole', role('r'));
      fixture.advance(999);
      expect(refused('GetRole', { RoleName: 'r' })[0]).to.equal('NoSuchEntity');
      expect(refused('CreateRole', role('r'))[0]).to.equal('EntityAlreadyExists');
      fixture.advance(1);
      expect(getRole('r')['RoleName']).to.equal('r');
    });

    it('hides a new role from mutations', () => {
      fixture = new ModelFixture({ iam: { writeAfterCreateMs: 1_000 } });
      run('CreateRole', role('r'));
      expect(refused('AttachRolePolicy', { RoleName: 'r', PolicyArn: podPolicy })[0]).to.equal('NoSuchEntity');
      fixture.advance(1_000);
      run('AttachRolePolicy', { RoleName: 'r', PolicyArn: podPolicy });
    });

    it('shows a deleted role for a while', () => {
      fixture = new ModelFixture({ iam: { readAfterDeleteMs: 1_000 } });
      run('DeleteRole', { RoleName: 'pods' });
      expect(getRole('pods')['RoleName']).to.equal('pods');
      expect(refused('DeleteRole', { RoleName: 'pods' })[0]).to.equal('NoSuchEntity');
      fixture.advance(1_000);
      expect(refused('GetRole', { RoleName: 'pods' })[0]).to.equal('NoSuchEntity');
    });

    it('shows a change late', () => {
      fixture = new ModelFixture({ iam: { readAfterUpdateMs: 1_000 } });
      run('TagRole', { RoleName: 'pods', Tags: [{ Key: 'a', Value: '1' }] });
      expect(getRole('pods')).not.to.have.property('Tags');
      fixture.advance(1_000);
      expect(getRole('pods')['Tags']).to.deep.equal([{ Key: 'a', Value: '1' }]);
    });
  });

  it('name principal, action and resource of a denial', () => {
    fixture.model.principals.deny({ principal: fixture.caller.accessKeyId, action: 'iam:CreateRole' });
    expect(refused('CreateRole', role('r'))).to.deep.equal([
      'AccessDenied',
      403,
      `User: ${fixture.caller.arn} is not authorized to perform: iam:CreateRole on resource: arn:aws:iam::${account}:role/r because no identity-based policy allows the iam:CreateRole action`,
    ]);
  });
});

function withResource(): string {
  const document = JSON.parse(fargateTrust) as { Statement: Input[] };
  return JSON.stringify({ ...document, Statement: [{ ...document.Statement[0], Resource: '*' }] });
}
