import { expect } from 'chai';
import { ClusterName, EksClusterName, ProfileName } from '../../api/names.ts';
import {
  defaultEksClusterName,
  findProfileNameProblem,
  generateName,
  isNamedAfter,
  isSameRoleName,
  nextReplacementName,
  profileNameFor,
  replacementDigits,
  replacementName,
  roleNamesOfCapa,
} from './names.ts';

describe('Names', () => {
  describe('generateName', () => {
    const vectors: readonly (readonly [string, string, number, string])[] = [
      ['foo', 'default', 100, 'default_foo'],
      ['my.other.profile', 'default', 100, 'default_my_other_profile'],
      ['abcde'.repeat(20), 'default', 100, 'capa_lw9gghk6oj4nkdbmthd0mplrnqe'],
      ['fargate', 'my-cluster.prod-default_my.profile', 64, 'my-cluster.prod-default_my.profile_fargate'],
      [
        'fargate',
        'my-very-long-cluster-name-for-production-default_my-very-long-profile-name',
        64,
        'capa_10uyoudsbd1q75zvbl5fqtlamoi',
      ],
    ];
    for (const [resource, namespace, max, wanted] of vectors) {
      it(`${namespace} / ${resource} in ${max} bytes is ${wanted}`, () => {
        expect(generateName(resource, namespace, max)).to.equal(wanted);
      });
    }

    it('hashes a name that is exactly as long as the limit, and keeps a name that is a byte shorter', () => {
      expect(generateName('a'.repeat(97), 'ns', 100)).to.match(/^capa_[0-9a-z]{27}$/);
      expect(generateName('a'.repeat(96), 'ns', 100)).to.equal(`ns_${'a'.repeat(96)}`);
    });

    it('counts bytes, not characters', () => {
      expect(generateName('ä'.repeat(49), 'ns', 100)).to.match(/^capa_[0-9a-z]{27}$/);
      expect(generateName('ä'.repeat(48), 'ns', 100)).to.equal(`ns_${'ä'.repeat(48)}`);
    });
  });

  it('of profiles consist of namespace and name', () => {
    expect(profileNameFor({ name: 'foo', namespace: 'default' })).to.equal('default_foo');
  });

  it('of roles of Cluster API Provider AWS include both generations, without duplicates', () => {
    const profileName = ProfileName.of('default_foo');
    const clusterName = ClusterName.of('prod');
    expect(
      roleNamesOfCapa({ clusterName, eksClusterName: EksClusterName.of('default_prod-control-plane'), profileName }),
    ).to.deep.equal(['prod-default_foo_fargate', 'default_prod-control-plane-default_foo_fargate']);
    expect(roleNamesOfCapa({ clusterName, eksClusterName: EksClusterName.of('prod'), profileName })).to.deep.equal([
      'prod-default_foo_fargate',
    ]);
  });

  it('of roles are the same without regard to case', () => {
    expect(isSameRoleName('Pods', 'pODS')).to.equal(true);
    expect(isSameRoleName('pods', 'pod')).to.equal(false);
    expect(isSameRoleName(undefined, 'pods')).to.equal(false);
  });

  it('of EKS clusters default to namespace and name of the control plane', () => {
    expect(defaultEksClusterName('prod-control-plane', 'default')).to.equal('default_prod-control-plane');
  });

  describe('of replacements', () => {
    const base = ProfileName.of('team-a_web');
    const next = (existing: readonly string[], ...taken: readonly string[]) =>
      nextReplacementName(base, existing, (name) => taken.includes(name));

    for (const [situation, name, expected] of [
      ['begin with 9999', next([base]), '9999-team-a_web'],
      ['have digits one less than the smallest', next(['9998-team-a_web', base, '9999-team-a_web']), '9997-team-a_web'],
      ['keep four digits', next(['0100-team-a_web']), '0099-team-a_web'],
      ['end with 0000', next(['0001-team-a_web']), '0000-team-a_web'],
      ['leave out the names of others', next([base], '9999-team-a_web', '9998-team-a_web'), '9997-team-a_web'],
      ['do not count names of another base', next(['5000-team-a_api', '17-team-a_web', '5000_web']), '9999-team-a_web'],
      ['are the highest free one after 0000', next(['0000-team-a_web'], '9999-team-a_web'), '9998-team-a_web'],
    ] as const)
      it(`${situation}: ${name}`, () => expect(name).to.equal(expected));

    it('come before the base and before all earlier replacements, in the order of EKS', () => {
      const names: string[] = [base];
      for (let count = 0; count < 20; count++) names.unshift(next(names));
      expect(names.toSorted()).to.deep.equal(names);
    });

    it('keep the limit of EKS, and cut no letter in half', () => {
      for (const letter of ['x', '\u{20BB7}']) {
        const long = ProfileName.of(letter.repeat(100));
        const name = replacementName(long, 9_999);
        expect(name).to.equal(`9999-${letter.repeat(95)}`);
        expect(findProfileNameProblem(name)).to.equal(undefined);
        expect(isNamedAfter(name, long)).to.equal(true);
      }
    });

    it('show the digits, and only of this base', () => {
      for (const [name, digits] of [
        ['9999-team-a_web', 9_999],
        ['0000-team-a_web', 0],
        ['team-a_web', undefined],
        ['999-team-a_web', undefined],
        ['99999-team-a_web', undefined],
        ['9999-team-a_web2', undefined],
        ['9999-team-a_we', undefined],
        ['9999_team-a_web', undefined],
        ['x9999-team-a_web', undefined],
      ] as const) {
        expect(replacementDigits(name, base), name).to.equal(digits);
        expect(isNamedAfter(name, base), name).to.equal(digits !== undefined || name === base);
      }
    });
  });
});
