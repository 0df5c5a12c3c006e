import { DescribeClusterCommand, EKSClient } from '@aws-sdk/client-eks';
import { expect } from 'chai';
import { expectFailure, CallHarness } from '../testing/calls.ts';
import { FakeTransport } from '../testing/fake-transport.ts';
import { NamedResponse, neverSettle, requestOf, respondNamed } from '../testing/requests.ts';
import { currentDispatchOptions, newCheckedHandler } from '../transport/sdk-handler.ts';
import type { CallContext, CallRequest } from './call.ts';

describe('An AWS call is not sent and not counted', () => {
  let harness: CallHarness;
  let isSent: boolean;
  beforeEach(() => {
    harness = new CallHarness(new FakeTransport());
    isSent = false;
  });

  afterEach(async () => {
    expect(isSent).to.equal(false);
    expect(await harness.sumOf('aws_api_requests_total', {})).to.equal(0);
    expect(harness.clock.pendingTimers()).to.deep.equal([]);
  });

  const respond = (): Promise<unknown> => {
    isSent = true;
    return respondNamed();
  };
  const sending = (kind: CallRequest<unknown>['kind'], send: () => Promise<unknown>) => ({
    operation: 'Operate',
    kind,
    response: NamedResponse,
    send,
  });
  const failureOf = (request: CallRequest<unknown>, context?: Partial<CallContext>) =>
    expectFailure(harness.newCalls('eks', context)(request));

  for (const budget of [0, -5, NaN])
    it(`when the time left as leader is ${budget}`, async () => {
      const failure = await failureOf(requestOf('mutation', respond), { mutationBudget: () => budget });
      expect(failure).to.include({ code: 'NotDispatched' });
      expect(failure.message).to.contain('leadership');
    });

  it('when leadership is lost while the request is signed', async () => {
    let budget = 10_000;
    const request = sending('mutation', async () => {
      const { beforeDispatch } = currentDispatchOptions();
      await new Promise<void>((resolve) => harness.clock.after(100, resolve));
      beforeDispatch();
      return respond();
    });
    const outcome = failureOf(request, { mutationBudget: () => budget });
    await harness.clock.advance(50);
    budget = 0;
    await harness.clock.advance(50);
    expect((await outcome).code).to.equal('NotDispatched');
  });

  it('when the time as leader runs out while the transport connects', async () => {
    let budget = 10_000;
    const request = requestOf('mutation', async ({ beforeSend }) => {
      beforeSend();
      // The mutation has used up its time, but the timer of its deadline has not fired yet, because the process was
      // suspended.
      budget = -1;
      beforeSend();
      return respond();
    });
    const failure = await failureOf(request, { mutationBudget: () => budget });
    expect(failure).to.include({ code: 'NotDispatched' });
    expect(failure.message).to.contain('leadership');
  });

  it('after its deadline, however late the SDK sends it', async () => {
    let late: (() => void) | undefined;
    const outcome = failureOf(
      sending('mutation', () => {
        late = currentDispatchOptions().beforeDispatch;
        return neverSettle();
      }),
    );
    await harness.clock.advance(10_000);
    expect(await outcome).to.include({ code: 'NotPrepared', message: 'preparing the request: no result within 10 s' });
    expect(() => late?.()).to.throw();
  });

  const clientOf = (region: string, settings: object = {}): EKSClient =>
    new EKSClient({
      region,
      ...settings,
      credentials: { accessKeyId: 'KEY', secretAccessKey: 's' },
      requestHandler: newCheckedHandler(new FakeTransport()),
    });
  for (const [client, message] of [
    [clientOf('us_east_1'), 'Region not accepted: region="us_east_1" is not a valid hostname component.'],
    [
      clientOf('us-east-1', { useFipsEndpoint: true, endpoint: 'http://localhost:4566' }),
      'Invalid Configuration: FIPS and custom endpoint are not supported',
    ],
  ] as const)
    it(`when the SDK refuses it: ${message}`, async () => {
      const request = sending('read', () => client.send(new DescribeClusterCommand({ name: 'c' })));
      expect(await failureOf(request)).to.include({ code: 'NotPrepared', message });
    });

  it('when the signal of its pass has aborted before', async () => {
    const signal = AbortSignal.abort(new Error('stopped'));
    const failure = await failureOf(requestOf('read', respond), { signal });
    expect(failure).to.include({ code: 'NotDispatched', message: 'stopped' });
  });

  it('when the limiter delays it too long', async () => {
    harness = new CallHarness(new FakeTransport(), {
      acquire: (_bucket, _limit, _priority, signal) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    });
    const outcome = failureOf(requestOf('read', respond));
    await harness.clock.advance(15_000);
    expect(await outcome).to.include({ code: 'NotDispatched', message: 'the rate limit: no result within 15 s' });
  });
});
