import { expect } from 'chai';
import { account, Bench, fargateTrust } from './bench.ts';
import type { Input } from './input.ts';
import type { Output } from './context.ts';
import { isRecord } from './input.ts';

const podPolicy = 'arn:aws:iam::aws:policy/AmazonEKSFargatePodExecutionRolePolicy';

describe('IAM roles', () => {
  let bench: Bench;
  const run = (operation: string, input: Input): Output => bench.run('iam', operation, input);
  const refused = (operation: string, input: Input): readonly [string, number, string] => {
    const error = bench.refused('iam', operation, input);
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
    bench = new Bench();
  });

  it('are found ignoring case and made once', () => {
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

  it('have a path in their ARN, an AROA id of their own each time, and an encoded trust policy', () => {
    run('CreateRole', role('r', { Path: '/team/a/' }));
    const first = getRole('r');
    expect(first['Arn']).to.equal(`arn:aws:iam::${account}:role/team/a/r`);
    expect(first['RoleId']).to.match(/^AROA[A-Z2-7]{17}$/);
    expect(first['AssumeRolePolicyDocument']).to.match(/^%7B%22Version%22%3A/);
    expect(decodeURIComponent(String(first['AssumeRolePolicyDocument']))).to.equal(fargateTrust);
    run('DeleteRole', { RoleName: 'r' });
    run('CreateRole', role('r'));
    expect(getRole('r')['RoleId']).not.to.equal(first['RoleId']);
  });

  it('encode what RFC 3986 reserves and encodeURIComponent leaves', () => {
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
    [
      'tags that differ in case only',
      {
        Tags: [
          { Key: 'a', Value: '' },
          { Key: 'A', Value: '' },
        ],
      },
      'InvalidInput',
    ],
    ['a tag with a newline', { Tags: [{ Key: 'a\n', Value: '' }] }, 'ValidationError'],
  ];
  for (const [what, change, code] of malformed) {
    it(`are not made with ${what}`, () => {
      expect(refused('CreateRole', role('r', change))[0]).to.equal(code);
    });
  }

  it('say which constraint a value breaks', () => {
    expect(refused('CreateRole', role('r'.repeat(65)))[2]).to.equal(
      `1 validation error detected: Value '${'r'.repeat(65)}' at 'roleName' failed to satisfy constraint: Member must have length less than or equal to 64`,
    );
  });

  it('bound the trust policy, white space not counted', () => {
    const long = JSON.stringify({ ...JSON.parse(fargateTrust), Id: 'x'.repeat(2_048) });
    expect(refused('CreateRole', role('r', { AssumeRolePolicyDocument: long }))).to.deep.equal([
      'LimitExceeded',
      409,
      'Cannot exceed quota for ACLSizePerRole: 2048',
    ]);
    run('CreateRole', role('r', { AssumeRolePolicyDocument: fargateTrust + ' '.repeat(2_048) }));
  });

  it('have a quota', () => {
    bench = new Bench({ iam: { maxRoles: 1 } });
    expect(refused('CreateRole', role('r'))).to.deep.equal([
      'LimitExceeded',
      409,
      'Cannot exceed quota for RolesPerAccount: 1',
    ]);
  });

  it('name what keeps them from being deleted', () => {
    run('AttachRolePolicy', { RoleName: 'pods', PolicyArn: podPolicy });
    run('PutRolePolicy', { RoleName: 'pods', PolicyName: 'inline', PolicyDocument: '{}' });
    run('CreateInstanceProfile', { InstanceProfileName: 'ip' });
    run('AddRoleToInstanceProfile', { InstanceProfileName: 'ip', RoleName: 'pods' });
    const expectConflict = (message: string): void => {
      expect(refused('DeleteRole', { RoleName: 'pods' })).to.deep.equal(['DeleteConflict', 409, message]);
    };
    expectConflict('Cannot delete entity, must remove roles from instance profile first.');
    run('RemoveRoleFromInstanceProfile', { InstanceProfileName: 'ip', RoleName: 'pods' });
    expectConflict('Cannot delete entity, must detach all policies first.');
    run('DetachRolePolicy', { RoleName: 'pods', PolicyArn: podPolicy });
    expectConflict('Cannot delete entity, must delete policies first.');
    run('DeleteRolePolicy', { RoleName: 'pods', PolicyName: 'inline' });
    run('DeleteRole', { RoleName: 'pods' });
  });

  it('leave an incident when they go while a profile still names them', () => {
    bench.createActive('p');
    run('DeleteRole', { RoleName: 'pods' });
    expect(bench.model.world.incidents.map(({ kind, subject }) => [kind, subject])).to.deep.equal([
      ['roleDeletedUnderProfile', `arn:aws:iam::${account}:role/pods`],
    ]);
  });

  describe('policies', () => {
    it('are attached as often as one likes and detached once', () => {
      run('AttachRolePolicy', { RoleName: 'pods', PolicyArn: podPolicy });
      run('AttachRolePolicy', { RoleName: 'pods', PolicyArn: podPolicy });
      expect(run('ListAttachedRolePolicies', { RoleName: 'pods' })['AttachedPolicies']).to.deep.equal([
        { PolicyName: 'AmazonEKSFargatePodExecutionRolePolicy', PolicyArn: podPolicy },
      ]);
      run('DetachRolePolicy', { RoleName: 'pods', PolicyArn: podPolicy });
      expect(refused('DetachRolePolicy', { RoleName: 'pods', PolicyArn: podPolicy })).to.deep.equal([
        'NoSuchEntity',
        404,
        `Policy ${podPolicy} was not found.`,
      ]);
    });

    it('must exist, in the partition of the account', () => {
      for (const PolicyArn of ['arn:aws:iam::aws:policy/No', podPolicy.replace('arn:aws:', 'arn:aws-cn:')]) {
        expect(refused('AttachRolePolicy', { RoleName: 'pods', PolicyArn })).to.deep.equal([
          'NoSuchEntity',
          404,
          `Policy ${PolicyArn} does not exist or is not attachable.`,
        ]);
      }
    });

    it('have a quota for each role', () => {
      for (let index = 0; index < 10; index += 1) {
        run('CreatePolicy', { PolicyName: `p${index}`, PolicyDocument: '{}' });
        run('AttachRolePolicy', { RoleName: 'pods', PolicyArn: `arn:aws:iam::${account}:policy/p${index}` });
      }
      expect(refused('AttachRolePolicy', { RoleName: 'pods', PolicyArn: podPolicy })[0]).to.equal('LimitExceeded');
    });

    it('come in pages', () => {
      bench = new Bench({ iam: { maxPageSize: 1 } });
      run('AttachRolePolicy', { RoleName: 'pods', PolicyArn: podPolicy });
      run('AttachRolePolicy', { RoleName: 'pods', PolicyArn: 'arn:aws:iam::aws:policy/ReadOnlyAccess' });
      const first = run('ListAttachedRolePolicies', { RoleName: 'pods' });
      expect([first['IsTruncated'], first['AttachedPolicies']]).to.deep.equal([
        true,
        [{ PolicyName: 'AmazonEKSFargatePodExecutionRolePolicy', PolicyArn: podPolicy }],
      ]);
      const second = run('ListAttachedRolePolicies', { RoleName: 'pods', Marker: first['Marker'] });
      expect(second['IsTruncated']).to.equal(false);
    });
  });

  it('set and drop their boundary', () => {
    const boundary = 'arn:aws:iam::aws:policy/PowerUserAccess';
    run('PutRolePermissionsBoundary', { RoleName: 'pods', PermissionsBoundary: boundary });
    expect(getRole('pods')['PermissionsBoundary']).to.deep.equal({
      PermissionsBoundaryType: 'Policy',
      PermissionsBoundaryArn: boundary,
    });
    run('DeleteRolePermissionsBoundary', { RoleName: 'pods' });
    expect(getRole('pods')).not.to.have.property('PermissionsBoundary');
  });

  it('replace a tag whose key differs in case only, and drop it so too', () => {
    run('TagRole', {
      RoleName: 'pods',
      Tags: [
        { Key: 'Team', Value: '1' },
        { Key: 'b', Value: '' },
      ],
    });
    run('TagRole', { RoleName: 'pods', Tags: [{ Key: 'team', Value: '2' }] });
    expect(run('ListRoleTags', { RoleName: 'pods' })['Tags']).to.deep.equal([
      { Key: 'b', Value: '' },
      { Key: 'team', Value: '2' },
    ]);
    run('UntagRole', { RoleName: 'pods', TagKeys: ['TEAM'] });
    expect(run('ListRoleTags', { RoleName: 'pods' })['Tags']).to.deep.equal([{ Key: 'b', Value: '' }]);
  });

  describe('eventual consistency', () => {
    it('hides a new role from reads while a second create already meets it', () => {
      bench = new Bench({ iam: { readAfterCreateMs: 1_000 } });
      run('CreateRole', role('r'));
      bench.pass(999);
      expect(refused('GetRole', { RoleName: 'r' })[0]).to.equal('NoSuchEntity');
      expect(refused('CreateRole', role('r'))[0]).to.equal('EntityAlreadyExists');
      bench.pass(1);
      expect(getRole('r')['RoleName']).to.equal('r');
    });

    it('hides a new role from mutations', () => {
      bench = new Bench({ iam: { writeAfterCreateMs: 1_000 } });
      run('CreateRole', role('r'));
      expect(refused('AttachRolePolicy', { RoleName: 'r', PolicyArn: podPolicy })[0]).to.equal('NoSuchEntity');
      bench.pass(1_000);
      run('AttachRolePolicy', { RoleName: 'r', PolicyArn: podPolicy });
    });

    it('shows a deleted role for a while', () => {
      bench = new Bench({ iam: { readAfterDeleteMs: 1_000 } });
      run('DeleteRole', { RoleName: 'pods' });
      expect(getRole('pods')['RoleName']).to.equal('pods');
      expect(refused('DeleteRole', { RoleName: 'pods' })[0]).to.equal('NoSuchEntity');
      bench.pass(1_000);
      expect(refused('GetRole', { RoleName: 'pods' })[0]).to.equal('NoSuchEntity');
    });

    it('shows a change late', () => {
      bench = new Bench({ iam: { readAfterUpdateMs: 1_000 } });
      run('TagRole', { RoleName: 'pods', Tags: [{ Key: 'a', Value: '1' }] });
      expect(getRole('pods')).not.to.have.property('Tags');
      bench.pass(1_000);
      expect(getRole('pods')['Tags']).to.deep.equal([{ Key: 'a', Value: '1' }]);
    });
  });

  it('say who may not do what', () => {
    bench.model.principals.deny({ principal: bench.caller.accessKeyId, action: 'iam:CreateRole' });
    expect(refused('CreateRole', role('r'))).to.deep.equal([
      'AccessDenied',
      403,
      `User: ${bench.caller.arn} is not authorized to perform: iam:CreateRole on resource: arn:aws:iam::${account}:role/r because no identity-based policy allows the iam:CreateRole action`,
    ]);
  });
});

function withResource(): string {
  const document = JSON.parse(fargateTrust) as { Statement: Input[] };
  return JSON.stringify({ ...document, Statement: [{ ...document.Statement[0], Resource: '*' }] });
}
