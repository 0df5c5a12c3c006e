import { expect } from 'chai';
import type { Backend } from './worker-shares.ts';
import { WorkerShares } from './worker-shares.ts';

const at = (region: string, identity = 'default', namespace = 'team'): Backend => ({ namespace, region, identity });

/**
 * Starts the processing of keys of one region and identity as long as `claim` returns one of `claims`. Returns the
 * number of these keys.
 */
function startAll(shares: WorkerShares, backend: Backend, claims: readonly string[] = ['share', 'spare']): number {
  let started = 0;
  shares.addReady(backend);
  for (; claims.includes(shares.claim(backend)); started++) shares.start(backend);
  return started;
}

describe('WorkerShares', () => {
  it('gives all workers to a region that is alone', () => {
    expect(startAll(new WorkerShares(10), at('dead'))).to.equal(10);
  });

  it('gives a second region its share at once, although the first region holds all workers', () => {
    const shares = new WorkerShares(10);
    startAll(shares, at('dead'));
    expect(startAll(shares, at('healthy'))).to.equal(5);
  });

  it('gives urgent keys as many additional workers, and leaves the other half to the shares', () => {
    const shares = new WorkerShares(10);
    startAll(shares, at('busy'));
    let urgent = 0;
    for (; shares.claim(at('busy'), true) === 'spare'; urgent++) shares.start(at('busy'));
    expect(urgent).to.equal(10);
    expect(shares.claim(at('busy'), true)).to.equal('none');
    expect(startAll(shares, at('healthy')), 'the share of another region').to.equal(5);
  });

  it('gives a region nothing beyond its share until fewer keys than workers are running', () => {
    const shares = new WorkerShares(10);
    startAll(shares, at('dead'));
    startAll(shares, at('healthy'));
    for (let ended = 0; ended < 5; ended++) {
      expect(shares.claim(at('dead')), `after ${ended} ends`).to.equal('none');
      shares.finish(at('dead'));
    }
    shares.finish(at('dead'));
    expect(shares.claim(at('dead'))).to.equal('share');
  });

  it('gives idle workers to a region beyond its share', () => {
    const shares = new WorkerShares(10);
    shares.addReady(at('healthy'));
    expect(startAll(shares, at('busy'), ['share'])).to.equal(5);
    expect(shares.claim(at('busy'))).to.equal('spare');
    expect(startAll(shares, at('busy'))).to.equal(5);
  });

  it('counts a region with many identities once', () => {
    const shares = new WorkerShares(10);
    for (let account = 0; account < 100; account++) startAll(shares, at('dead', `account-${account}`));
    expect(startAll(shares, at('healthy')), 'at once').to.equal(5);
  });

  it('divides the workers of a region between its identities', () => {
    const shares = new WorkerShares(10);
    startAll(shares, at('eu-west-1', 'slow'));
    expect(startAll(shares, at('eu-west-1', 'other'))).to.equal(5);
  });

  it('puts an identity below its share before an identity of the same region that has its share', () => {
    const shares = new WorkerShares(10);
    shares.addReady(at('eu-west-1', 'waiting'));
    expect(startAll(shares, at('eu-west-1', 'busy'), ['share'])).to.equal(5);
    expect(shares.claim(at('eu-west-1', 'busy'))).to.equal('spare');
    expect(shares.claim(at('eu-west-1', 'waiting'))).to.equal('share');
  });

  it('starts at most twice as many keys of one region as there are workers', () => {
    const shares = new WorkerShares(10);
    let started = 0;
    for (let account = 0; account < 100; account++) started += startAll(shares, at('dead', `account-${account}`));
    expect(started).to.be.within(10, 20);
  });

  it('gives a second namespace its share at once, however many regions and identities the first one uses', () => {
    const shares = new WorkerShares(10);
    let started = 0;
    for (let region = 0; region < 50; region++)
      for (let account = 0; account < 10; account++) started += startAll(shares, at(`${region}`, `${account}`, 'many'));
    expect(started).to.be.within(10, 30);
    expect(startAll(shares, at('0', '0', 'one'))).to.equal(5);
  });

  it('divides the workers between the namespaces first, and then between the regions of each', () => {
    const shares = new WorkerShares(12);
    for (const region of ['a', 'b', 'c']) shares.addReady(at(region, 'default', 'many'));
    shares.addReady(at('a', 'default', 'one'));
    const startedIn = (namespace: string, region: string): number =>
      startAll(shares, at(region, 'default', namespace), ['share']);
    expect(['a', 'b', 'c'].map((region) => startedIn('many', region))).to.deep.equal([2, 2, 2]);
    expect(startedIn('one', 'a')).to.equal(6);
  });

  it('never starts more than four times as many keys as there are workers', () => {
    const shares = new WorkerShares(10);
    let started = 0;
    for (let team = 0; team < 50; team++)
      for (let region = 0; region < 50; region++) started += startAll(shares, at(`${region}`, 'default', `${team}`));
    expect(started).to.be.at.most(40);
    expect(shares.most).to.equal(40);
  });

  it('forgets a region without keys', () => {
    const shares = new WorkerShares(10);
    shares.addReady(at('gone'));
    shares.removeReady(at('gone'));
    shares.start(at('ended'));
    shares.finish(at('ended'));
    expect(startAll(shares, at('eu-west-1'), ['share'])).to.equal(10);
  });
});
