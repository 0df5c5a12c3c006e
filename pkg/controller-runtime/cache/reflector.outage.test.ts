import { expect } from 'chai';
import { ByteStream } from '../testing/byte-stream.ts';
import { newFakeApiEnvironment } from '../testing/fixtures.ts';
import { startSyncedReflector, stopReflectors, type RunningReflector } from '../testing/running-reflector.ts';

const MINUTE = 60_000;

describe('the outage of a Reflector', () => {
  let running: RunningReflector;
  beforeEach(async () => {
    running = await startSyncedReflector(newFakeApiEnvironment());
    await running.clock.advance(10 * MINUTE);
    expect(running.reflector.outage(), 'while the watch is open').to.equal(undefined);
    expect(running.reflector.outdatedFor()).to.equal(0);
  });
  afterEach(stopReflectors);

  it('is reported after three minutes without a watch, with the error, and ends with the next watch', async () => {
    running.server.intercept = () => new Error('connect ECONNREFUSED 127.0.0.1:6443');
    running.server.endWatches(new Error('read ECONNRESET'));
    await running.clock.advance(3 * MINUTE - 1_000);
    expect(running.reflector.outage()).to.equal(undefined);
    await running.clock.advance(MINUTE);
    expect(running.reflector.outage()).to.match(/^no watch for 3 min: .*connect ECONNREFUSED 127\.0\.0\.1:6443$/);
    expect(running.reflector.outdatedFor()).to.be.within(3 * MINUTE, 4 * MINUTE);
    running.server.intercept = () => undefined;
    await running.clock.advance(2 * MINUTE);
    expect(running.reflector.outage()).to.equal(undefined);
    expect(running.reflector.outdatedFor()).to.equal(0);
  });

  it('is reported when lists work and each watch is refused', async () => {
    running.server.intercept = ({ path }) =>
      path.includes('watch=true') ? new Error('refused by a gateway') : undefined;
    running.server.endWatches(new Error('read ECONNRESET'));
    await running.clock.advance(5 * MINUTE);
    expect(running.reflector.outage()).to.match(/^no watch for 5 min: /);
  });

  it('is not reported for a watch that is open and silent', async () => {
    running.server.intercept = ({ path, signal }) =>
      path.includes('watch=true') ? { status: 200, headers: {}, body: new ByteStream(signal, () => {}) } : undefined;
    running.server.endWatches(new Error('read ECONNRESET'));
    for (let minutes = 0; minutes < 20; minutes++) {
      await running.clock.advance(MINUTE);
      expect(running.reflector.outage()).to.equal(undefined);
    }
  });

  it('is not reported for a kind that is not served', async () => {
    running.server.unserve('widgets');
    await running.clock.advance(10 * MINUTE);
    expect(running.reflector.outage()).to.equal(undefined);
  });
});
