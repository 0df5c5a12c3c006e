import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { kubeconfigOf } from '../testing/fixtures.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { CredentialSource } from './credentials.ts';
import { KubeconfigError, loadKubeconfig } from './kubeconfig.ts';

const pem = (content: string): string => `-----BEGIN CERTIFICATE-----\n${content}\n-----END CERTIFICATE-----\n`;

describe('CredentialSource', () => {
  let dir = '';
  let clock: VirtualClock;
  let loads: number;
  const { signal } = new AbortController();

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'credentials-'));
    clock = new VirtualClock();
    loads = 0;
    write('ca.crt', pem('old'));
    configure({ token: 'first' });
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  const write = (name: string, content: string): void => writeFileSync(join(dir, name), content);
  const cluster = { server: 'https://c', 'certificate-authority': 'ca.crt', 'tls-server-name': 'n' };
  const configure = (user: object): void => write('config', kubeconfigOf(cluster, user));
  const newSource = (): CredentialSource =>
    new CredentialSource(() => {
      loads += 1;
      return loadKubeconfig({ path: join(dir, 'config'), env: {}, home: dir });
    }, clock);

  it('reads a rotated certificate within ten seconds, and gives it another fingerprint', async () => {
    const source = newSource();
    const first = await source.get(signal);
    expect(first.tls).to.deep.equal({ ca: Buffer.from(pem('old')), servername: 'n' });
    write('ca.crt', pem('new'));
    await clock.advance(9_999);
    expect((await source.get(signal)).fingerprint).to.equal(first.fingerprint);
    await clock.advance(1);
    const second = await source.get(signal);
    expect(second.fingerprint).to.not.equal(first.fingerprint);
    expect(second.tls.ca?.toString()).to.equal(pem('new'));
    expect(loads).to.equal(1);
  });

  it('keeps the fingerprint when only the token changes', async () => {
    const source = newSource();
    const first = await source.get(signal);
    configure({ token: 'second' });
    const second = await source.refresh(first, signal);
    expect(second?.headers).to.deep.equal({ authorization: 'Bearer second' });
    expect(second?.fingerprint).to.equal(first.fingerprint);
  });

  it('reloads the kubeconfig at most every ten seconds, however often the server refuses', async () => {
    const source = newSource();
    const first = await source.get(signal);
    for (let i = 0; i < 20; i++) expect(await source.refresh(first, signal)).to.equal(undefined);
    expect(loads).to.equal(2);
    await clock.advance(10_000);
    await source.refresh(first, signal);
    expect(loads).to.equal(3);
  });

  it('returns the new credentials to all requests that were refused with the old ones', async () => {
    const source = newSource();
    const first = await source.get(signal);
    configure({ token: 'second' });
    const all = await Promise.all([source.refresh(first, signal), source.refresh(first, signal)]);
    expect(all.map((fresh) => fresh?.headers['authorization'])).to.deep.equal(['Bearer second', 'Bearer second']);
    expect(loads).to.equal(2);
  });

  it('computes the credentials once for all requests that need them together, whichever of them aborts', async () => {
    const calls = join(dir, 'calls');
    const script = `echo call >> ${calls}; echo '{"status": {"token": "t"}}'`;
    configure({ exec: { apiVersion: 'client.authentication.k8s.io/v1', command: 'sh', args: ['-c', script] } });
    const source = newSource();
    const stop = new AbortController();
    const aborted = source.get(stop.signal).catch((error: unknown) => String(error));
    const others = [source.get(signal), source.get(signal)];
    stop.abort(new Error('stopped'));
    expect(await aborted).to.equal('Error: stopped');
    const headers = (await Promise.all([...others, source.get(signal)])).map((credentials) => credentials.headers);
    expect(headers).to.deep.equal(Array.from({ length: 3 }, () => ({ authorization: 'Bearer t' })));
    expect(readFileSync(calls, 'utf8')).to.equal('call\n');
  });

  it('prefers the token file to the token of the kubeconfig', async () => {
    write('token', 'rotated\n');
    configure({ token: 'inline', tokenFile: 'token' });
    expect((await newSource().get(signal)).headers).to.deep.equal({ authorization: 'Bearer rotated' });
  });

  it('throws for an unusable kubeconfig when it is constructed', () => {
    write('config', '{}');
    expect(newSource).to.throw(KubeconfigError, 'current-context is not set');
  });
});
