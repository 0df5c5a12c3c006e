import { expect } from 'chai';
import type { Backend } from './worker-shares.ts';
import { WorkerShares } from './worker-shares.ts';

const at = (region: string, identity = 'default'): Backend => ({ region, identity });

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

  it('gives urgent keys as many additional workers, and leaves the last third to the shares', () => {
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

  it('never starts more than three times as many keys as there are workers', () => {
    const shares = new WorkerShares(10);
    let started = 0;
    for (let region = 0; region < 50; region++) started += startAll(shares, at(`region-${region}`));
    expect(started).to.be.at.most(30);
    expect(shares.most).to.equal(30);
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
