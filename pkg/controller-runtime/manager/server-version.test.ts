import { expect } from 'chai';
import { MemoryLogger } from '../testing/memory-logger.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { createKubeClient } from '../client/client.ts';
import { json } from '../testing/fake-api-server.ts';
import type { TransportResponse } from '../client/transport.ts';
import { ServerVersionCheck, tooOld } from './server-version.ts';

const version = (minor: string, gitVersion = `v1.${minor}.7`): object => ({ major: '1', minor, gitVersion });

const NEEDED = { oldestMinor: 30, neededBy: 'the example', remedy: 'upgrade it' };

describe('tooOld', () => {
  it('names the version, the oldest supported version, and the remedy', () => {
    expect(tooOld(version('29'), NEEDED)).to.equal(
      'the API server is Kubernetes v1.29.7, but the example needs v1.30 or newer; upgrade it',
    );
    expect(tooOld({ major: '1', minor: '9' }, NEEDED)).to.match(/^the API server is Kubernetes v1\.9, /);
    expect(tooOld(version('29+', 'v1.29.9-vendor-1234567'), NEEDED)).to.contain('v1.29.9-vendor-1234567');
  });

  it('accepts the oldest supported version, newer versions, and versions that it does not understand', () => {
    for (const each of [version('30'), version('30+'), version('36'), { major: '2', minor: '0' }])
      expect(tooOld(each, NEEDED), JSON.stringify(each)).to.equal(undefined);
    for (const unknown of [undefined, {}, { major: '1' }, { major: '1', minor: 'x' }, 'ok'])
      expect(tooOld(unknown, NEEDED), JSON.stringify(unknown)).to.equal(undefined);
  });
});

describe('ServerVersionCheck', () => {
  function start(respond: () => TransportResponse | Promise<TransportResponse>) {
    const clock = new VirtualClock();
    const logger = new MemoryLogger();
    const paths: string[] = [];
    const transport = {
      host: 'kubernetes.test',
      send: async ({ path }: { readonly path: string }) => {
        paths.push(path);
        return respond();
      },
    };
    const client = createKubeClient({ clock, transport });
    const check = new ServerVersionCheck({ client, clock, logger, needed: NEEDED });
    const stopping = new AbortController();
    const ended = check.run(stopping.signal);
    const stop = async (): Promise<void> => {
      stopping.abort();
      await ended;
      expect(clock.pendingTimers()).to.deep.equal([]);
    };
    return { check, clock, logger, paths, stop };
  }

  it('fails while the API server is too old, says so once in the log, and passes after an upgrade', async () => {
    let minor = '29';
    const { check, clock, logger, paths, stop } = start(() => json(200, version(minor)));
    await clock.settle();
    expect(check.check()).to.match(/^the API server is Kubernetes v1\.29\.7, but the example needs v1\.30 or newer/);
    await clock.advance(120_000);
    expect(logger.linesWith('The API server is too old')).to.have.length(1);
    minor = '30';
    await clock.advance(60_000);
    expect(check.check()).to.equal(undefined);
    const asked = paths.length;
    await clock.advance(3_600_000);
    expect(paths).to.deep.equal(Array.from({ length: asked }, () => '/version'));
    await stop();
  });

  it('asks again after an error of the API server, and then passes an API server that was upgraded', async () => {
    let answer = json(200, version('29'));
    const { check, clock, stop } = start(() => answer);
    await clock.advance(1_000);
    expect(check.check()).to.be.a('string');
    answer = json(503, { kind: 'Status', code: 503 });
    await clock.advance(120_000);
    expect(check.check()).to.be.a('string');
    answer = json(403, { kind: 'Status', code: 403 });
    await clock.advance(120_000);
    answer = json(200, version('36'));
    await clock.advance(60_000);
    expect(check.check()).to.equal(undefined);
    await stop();
  });

  it('passes when the API server does not tell its version', async () => {
    for (const status of [403, 404]) {
      const { check, clock, stop } = start(() => json(status, { kind: 'Status', code: status }));
      await clock.advance(600_000);
      expect(check.check()).to.equal(undefined);
      await stop();
    }
  });
});
