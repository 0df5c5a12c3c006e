import { expect } from 'chai';
import { createKubeClient } from 'controller-runtime/client';
import { FakeApiServer, SeededRandom, VirtualClock } from 'controller-runtime/testing';
import { Secrets } from './secrets.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const NAMESPACE = 'capaf-system';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const dataOf = (texts: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, base64(text)]));

describe('Secrets', () => {
  let clock: VirtualClock;
  let api: FakeApiServer;
  let secrets: Secrets;
  let stop: AbortController;
  let changed: string[];
  let running: Promise<void>;

  beforeEach(() => {
    clock = new VirtualClock();
    api = new FakeApiServer({ clock, random: new SeededRandom(1) });
    start(10 * MINUTE);
  });
  function start(resync: number): void {
    secrets = new Secrets({ client: createKubeClient({ transport: api, clock }), clock, namespace: NAMESPACE, resync });
    changed = [];
    secrets.onChange((name) => changed.push(name));
    stop = new AbortController();
    running = secrets.run(stop.signal);
  }
  afterEach(async () => {
    stop.abort();
    await running;
    expect(clock.pendingTimers()).to.deep.equal([]);
  });

  const create = (name: string, texts: Readonly<Record<string, string>>) =>
    api.storage.create(api.kind('secrets'), NAMESPACE, { metadata: { name }, data: dataOf(texts) });
  const change = (name: string, texts: Readonly<Record<string, string>>) =>
    api.storage.mergePatch(api.kind('secrets'), { namespace: NAMESPACE, name }, { data: dataOf(texts) });
  const read = (name = 'keys') => secrets.read(name, new AbortController().signal);
  const credentials = async (name = 'keys') => {
    const reading = await read(name);
    return reading.kind === 'complete' ? reading.credentials : reading;
  };
  const KEYS = { AccessKeyID: 'AKIA1', SecretAccessKey: 'first' };

  it('returns access keys, and the session token of a Secret that has one', async () => {
    create('keys', KEYS);
    create('session', { ...KEYS, SessionToken: 'token' });
    expect(await credentials()).to.deep.equal({ accessKeyId: 'AKIA1', secretAccessKey: 'first' });
    expect(await credentials('session')).to.deep.equal({
      accessKeyId: 'AKIA1',
      secretAccessKey: 'first',
      sessionToken: 'token',
    });
  });

  it('ignores white space around a value', async () => {
    create('keys', { AccessKeyID: 'AKIA1\n', SecretAccessKey: ' first\r\n' });
    expect(await credentials()).to.deep.equal({ accessKeyId: 'AKIA1', secretAccessKey: 'first' });
  });

  for (const [data, missing] of [
    [{}, ['AccessKeyID', 'SecretAccessKey']],
    [{ AccessKeyID: 'AKIA1' }, ['SecretAccessKey']],
    [{ AccessKeyID: '', SecretAccessKey: 'x' }, ['AccessKeyID']],
    [{ accessKeyID: 'AKIA1', SecretAccessKey: 'x' }, ['AccessKeyID']],
    [{ AccessKeyID: ' \n', SecretAccessKey: 'x' }, ['AccessKeyID']],
  ] as const)
    it(`reports that ${missing.join(' and ')} are missing for ${JSON.stringify(data)}`, async () => {
      create('keys', data);
      expect(await read()).to.deep.include({ kind: 'incomplete', missing });
    });

  it('only gets Secrets by name, in the namespace of the manager', async () => {
    create('keys', KEYS);
    await read();
    await clock.advance(5 * MINUTE);
    expect(new Set(api.requests.map(({ method, path }) => `${method} ${path}`))).to.deep.equal(
      new Set(['GET /api/v1/namespaces/capaf-system/secrets/keys']),
    );
  });

  it('shares one request between concurrent reads, and polls a Secret four times a minute', async () => {
    create('keys', KEYS);
    await Promise.all([read(), read(), read()]);
    await read();
    expect(api.requests).to.have.length(1);
    await clock.advance(MINUTE);
    expect(api.requests).to.have.length(5);
  });

  it('reads a Secret again that AWS has rejected', async () => {
    create('keys', KEYS);
    await read();
    secrets.forget('keys');
    await read();
    expect(api.requests).to.have.length(2);
  });

  it('stops polling a Secret that was not used for 15 minutes', async () => {
    create('keys', KEYS);
    await read();
    await clock.advance(20 * MINUTE);
    const looks = api.requests.length;
    await clock.advance(20 * MINUTE);
    expect(api.requests).to.have.length(looks);
    expect(clock.pendingTimers()).to.deep.equal([]);
    await read();
    await clock.advance(MINUTE);
    expect(api.requests).to.have.length(looks + 5);
  });

  it('reports a change of a Secret that objects use once an hour', async () => {
    stop.abort();
    await running;
    start(60 * MINUTE);
    create('keys', KEYS);
    await read();
    await clock.advance(59 * MINUTE);
    change('keys', { SecretAccessKey: 'second' });
    await clock.advance(15 * SECOND);
    expect(changed).to.deep.equal(['keys']);
  });

  it('reports that a Secret is created, deleted and created again', async () => {
    await read();
    create('keys', KEYS);
    await clock.advance(15 * SECOND);
    api.storage.delete(api.kind('secrets'), { namespace: NAMESPACE, name: 'keys' });
    await clock.advance(15 * SECOND);
    expect(await read()).to.deep.equal({ kind: 'absent' });
    create('keys', KEYS);
    await clock.advance(15 * SECOND);
    expect(changed).to.deep.equal(['keys', 'keys', 'keys']);
  });

  it('returns the last credentials for 10 minutes while the API server does not answer', async () => {
    create('keys', KEYS);
    await read();
    api.intercept = () => new Error('connection refused');
    await clock.advance(9 * MINUTE);
    expect(await credentials()).to.deep.equal({ accessKeyId: 'AKIA1', secretAccessKey: 'first' });
    await clock.advance(2 * MINUTE);
    expect(await read()).to.deep.equal({
      kind: 'unreadable',
      reason: 'getting secrets capaf-system/keys: no answer: connection refused',
    });
    expect(changed).to.deep.equal([]);
    api.intercept = () => undefined;
    await clock.advance(15 * SECOND);
    expect(await credentials()).to.deep.equal({ accessKeyId: 'AKIA1', secretAccessKey: 'first' });
    expect(changed, 'the Secret is readable again').to.deep.equal(['keys']);
  });

  it('sends one request per 5 seconds while the API server does not answer', async () => {
    api.intercept = () => new Error('connection refused');
    await read();
    await read();
    expect(api.requests).to.have.length(1);
    await clock.advance(5 * SECOND);
    await read();
    expect(api.requests).to.have.length(2);
  });

  it('does not quote an answer that is not valid JSON', async () => {
    api.intercept = () => ({
      status: 200,
      headers: {},
      body: (async function* () {
        yield Buffer.from('{"data":{"SecretAccessKey":top-secret');
      })(),
    });
    expect(await read()).to.deep.equal({
      kind: 'unreadable',
      reason: 'the answer of the API server is not valid',
    });
  });
});
