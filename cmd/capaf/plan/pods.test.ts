import { expect } from 'chai';
import { findPods } from './pods.ts';

describe('the pods that a Fargate profile runs', () => {
  const web = { running: 2, withoutOwner: ['shop/migration'] };
  const pods = new Map([['web', web]]);

  it('are those with its label', () => expect(findPods(pods, 'web')).to.equal(web));
  it('are none if no pod has its label', () =>
    expect(findPods(pods, 'jobs')).to.deep.equal({ running: 0, withoutOwner: [] }));
  it('are not known without the workload cluster', () => expect(findPods(undefined, 'web')).to.equal(null));
  for (const name of ['a'.repeat(64), 'web_'])
    it(`are not known if no label can have its name, such as ${name}`, () =>
      expect(findPods(pods, name)).to.equal(null));
});
