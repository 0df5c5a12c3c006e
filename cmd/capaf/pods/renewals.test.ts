import { expect } from 'chai';
import { expectSameWords } from '../testing/recording-shell.ts';
import type { FargatePod } from './read.ts';
import { renewalsOf } from './renewals.ts';

const pod = (name: string, owner: FargatePod['owner'], namespace = 'shop'): FargatePod => ({
  profile: 'default_web',
  namespace,
  name,
  state: 'Running',
  message: null,
  asked: { vCPU: 0.25, memoryGB: 0.5 },
  billed: { vCPU: 0.25, memoryGB: 1 },
  owner,
  createdAt: null,
  version: 'v1.33.5',
  outdated: true,
  eviction: null,
});

describe('the commands that renew pods', () => {
  it('restart a Deployment or StatefulSet once, whatever the number of its pods', () => {
    const web = { kind: 'Deployment', name: 'web' };
    const db = { kind: 'StatefulSet', name: 'db' };
    expect(renewalsOf([pod('a', web), pod('b', web), pod('db-0', db)], ['kubectl'])).to.deep.equal([
      {
        owner: 'Deployment shop/web',
        pods: 2,
        commands: ['kubectl rollout restart --namespace=shop deployment/web'],
        note: null,
      },
      {
        owner: 'StatefulSet shop/db',
        pods: 1,
        commands: ['kubectl rollout restart --namespace=shop statefulset/db'],
        note: null,
      },
    ]);
  });

  it('delete the pods of other owners, which create others', () => {
    const [renewal] = renewalsOf([pod('a', { kind: 'Rollout', name: 'web' })], ['kubectl', '--kubeconfig=x']);
    expect(renewal?.commands).to.deep.equal(['kubectl --kubeconfig=x delete --namespace=shop pod/a']);
  });

  it('are missing for a pod without an owner and for a Job', () => {
    const renewals = renewalsOf([pod('a', null), pod('b', { kind: 'Job', name: 'b' })], ['kubectl']);
    expect(renewals.map(({ owner, commands }) => [owner, commands])).to.deep.equal([
      ['Pod shop/a', []],
      ['Job shop/b', []],
    ]);
    expect(renewals.every(({ note }) => note !== null)).to.equal(true);
  });

  it('have the same words, whatever the names contain', () =>
    expectSameWords((text) => {
      const pods = [
        pod(text, { kind: 'Rollout', name: text }, text),
        pod('a', { kind: 'StatefulSet', name: text }, text),
      ];
      return renewalsOf(pods, ['kubectl', `--kubeconfig=${text}`]).flatMap(({ commands }) => commands);
    }));
});
