import { expect } from 'chai';
import { VirtualClock } from 'controller-runtime/testing';
import { type Progress, showProgress, trackAws, trackKube } from './progress.ts';
import { quietIo } from './testing/quiet-io.ts';

const { signal } = new AbortController();

type Answer = { response: { statusCode: number; headers: {}; body: string } };

describe('the progress of a command', () => {
  const clock = new VirtualClock();
  let said: string[] = [];
  let progress: Progress = new Set();
  let shown: { readonly end: () => void };
  beforeEach(() => {
    said = [];
    progress = new Set();
    answers = Promise.withResolvers<Answer>();
    shown = showProgress(quietIo({ clock, err: (text) => said.push(text) }), progress);
  });
  afterEach(() => shown.end());

  /** The answer arrives when the test resolves this promise. */
  let answers = Promise.withResolvers<Answer>();
  const aws = () => trackAws({ handle: () => answers.promise }, progress);
  const kube = () =>
    trackKube({ host: '10.0.0.1:6443', send: async () => ({ status: 200, headers: {}, body: [] }) }, progress);

  it('names the answer that the command has been waiting for longest, and says it once', async () => {
    await kube().send({ method: 'GET', path: '/api/v1/pods?limit=500', headers: {}, signal });
    const request = { protocol: 'https:', hostname: 'iam.amazonaws.com', path: '/', headers: {} };
    const waiting = aws().handle({ ...request, method: 'POST', body: 'Action=GetRole' }, { abortSignal: signal });
    await clock.advance(999);
    expect(said).to.deep.equal([]);
    await clock.advance(5_000);
    expect(said).to.deep.equal(['Waiting for AWS (iam.amazonaws.com): GetRole …\n']);
    answers.resolve({ response: { statusCode: 200, headers: {}, body: '' } });
    await waiting;
    await clock.advance(5_000);
    expect(said.slice(1), 'while nothing is awaited').to.deep.equal([]);
  });

  it('names the port of an AWS endpoint that is not the usual one', async () => {
    const request = { protocol: 'http:', hostname: '127.0.0.1', port: 4566, path: '/', headers: {} };
    void aws().handle({ ...request, method: 'POST', body: 'Action=GetRole' }, { abortSignal: signal });
    await clock.advance(1_000);
    expect(said).to.deep.equal(['Waiting for AWS (127.0.0.1:4566): GetRole …\n']);
  });

  it('ends with the command', async () => {
    shown.end();
    await clock.advance(10_000);
    expect(said).to.deep.equal([]);
  });
});
