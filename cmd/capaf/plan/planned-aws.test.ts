import { expect } from 'chai';
import { ProfileName, RoleArn } from '../../../api/names.ts';
import { aProfile } from '../../../controllers/awsfargateprofile/testing/builders.ts';
import type { FargateSelector, NewFargateProfile } from '../../../pkg/cloud/index.ts';
import { profileFields } from './planned-aws.ts';

describe('a field of a new Fargate profile', () => {
  const old = aProfile({ name: ProfileName.of('old') });
  const { cluster, podExecutionRoleArn, subnets, selectors, tags } = old;
  const same = { cluster, name: ProfileName.of('new'), podExecutionRoleArn, subnets, selectors, tags };
  const cases: readonly (readonly [given: string, change: Partial<NewFargateProfile>, forced: readonly string[]])[] = [
    ['another role', { podExecutionRoleArn: RoleArn.of('arn:aws:iam::1:role/x') }, ['podExecutionRoleArn']],
    ['other selectors', { selectors: [{ namespace: 'other', labels: {} }] }, ['selectors']],
    ['other subnets', { subnets: ['subnet-1'] }, ['subnets']],
    ['subnets that EKS chooses and other selectors', { subnets: [], selectors: [] }, ['selectors']],
    ['another order of subnets', { subnets: subnets.toReversed() }, ['fargateProfileName']],
  ];
  for (const [given, change, forced] of cases)
    it(`forces the replacement: ${given} means ${forced.join()}`, () => {
      const found = profileFields({ ...same, ...change }, old).filter(({ replaces }) => replaces === 'old');
      expect(found.map(({ name }) => name)).to.deep.equal(forced);
      for (const { before } of found) expect(before).not.to.equal(undefined);
    });

  const selector = (namespace: string, labels: Readonly<Record<string, string>> = {}) => ({ namespace, labels });
  const shop = selector('shop');
  const replacements: readonly (readonly [
    given: string,
    from: readonly FargateSelector[],
    to: readonly FargateSelector[],
    uncovered: readonly FargateSelector[] | undefined,
  ])[] = [
    ['another namespace', [shop, selector('web')], [selector('web'), selector('shop2')], [shop]],
    ['one more label', [shop], [selector('shop', { app: 'web' })], [shop]],
    ['one more namespace', [shop], [shop, selector('shop2')], undefined],
    ['a wildcard that includes the old namespace', [shop], [selector('sh*')], undefined],
  ];
  for (const [given, from, to, uncovered] of replacements)
    it(`names the old selectors that the new ones do not cover: ${given}`, () => {
      const fields = profileFields({ ...same, selectors: to }, { ...old, selectors: from });
      expect(fields.find(({ name }) => name === 'selectors')?.uncovered).to.deep.equal(uncovered);
    });

  it('forces nothing if nothing is replaced', () =>
    expect(profileFields(same, undefined).flatMap(({ replaces }) => replaces ?? [])).to.deep.equal([]));
});
