import { DescribeClusterCommand, EKSClient } from '@aws-sdk/client-eks';
import { expect } from 'chai';
import { expectFailure, CallHarness } from '../testing/calls.ts';
import { FakeTransport } from '../testing/fake-transport.ts';
import { currentDispatchOptions, newCheckedHandler } from '../transport/sdk-handler.ts';
import { NamedResponse, neverSettle, requestOf, respondNamed } from '../testing/requests.ts';

describe('An AWS call is not sent and not counted', () => {
  let harness: CallHarness;
  beforeEach(() => {
    harness = new CallHarness(new FakeTransport());
  });

  afterEach(async () => {
    expect(await harness.sumOf('aws_api_requests_total', {})).to.equal(0);
    expect(harness.clock.pendingTimers()).to.deep.equal([]);
  });

  it('when there is no time left as leader', async () => {
    for (const budget of [0, -5, NaN]) {
      let sent = false;
      const call = harness.newCalls('eks', { mutationBudget: () => budget });
      const failure = await expectFailure(
        call(
          requestOf('mutation', async () => {
            sent = true;
            return respondNamed();
          }),
        ),
      );
      expect(failure.code).to.equal('NotDispatched');
      expect(failure.message).to.contain('leadership');
      expect(sent).to.equal(false);
    }
  });

  it('when leadership is lost while the request is signed', async () => {
    let budget = 10_000;
    const outcome = expectFailure(
      harness.newCalls('eks', { mutationBudget: () => budget })({
        operation: 'Operate',
        kind: 'mutation',
        response: NamedResponse,
        send: async () => {
          const { beforeDispatch } = currentDispatchOptions();
          await new Promise<void>((resolve) => harness.clock.after(100, resolve));
          beforeDispatch();
          return respondNamed();
        },
      }),
    );
    await harness.clock.advance(50);
    budget = 0;
    await harness.clock.advance(50);
    expect((await outcome).code).to.equal('NotDispatched');
  });

  it('when the time as leader runs out while the transport connects', async () => {
    let budget = 10_000;
    const call = harness.newCalls('eks', { mutationBudget: () => budget })(
      requestOf('mutation', async ({ beforeSend }) => {
        beforeSend();
        // The mutation has used up the time that `mutationBudget` allowed, but the timer of its deadline has not fired
        // yet. This happens when the process was suspended.
        budget = -1;
        beforeSend();
        return respondNamed();
      }),
    );
    const failure = await expectFailure(call);
    expect(failure.code).to.equal('NotDispatched');
    expect(failure.message).to.contain('leadership');
  });

  it('when it cannot be signed in time', async () => {
    const outcome = expectFailure(
      harness.newCalls('eks')({ operation: 'Operate', kind: 'read', response: NamedResponse, send: neverSettle }),
    );
    await harness.clock.advance(10_000);
    expect(await outcome).to.include({
      code: 'NotPrepared',
      message: 'preparing the request: no result within 10 s',
    });
  });

  for (const { what, region, settings, message } of [
    {
      what: 'the region',
      region: 'us_east_1',
      settings: {},
      message: 'Region not accepted: region="us_east_1" is not a valid hostname component.',
    },
    {
      what: 'a FIPS endpoint beside a custom endpoint',
      region: 'us-east-1',
      settings: { useFipsEndpoint: true, endpoint: 'http://localhost:4566' },
      message: 'Invalid Configuration: FIPS and custom endpoint are not supported',
    },
  ])
    it(`when the SDK refuses ${what}`, async () => {
      const client = new EKSClient({
        region,
        ...settings,
        credentials: { accessKeyId: 'KEY', secretAccessKey: 's' },
        requestHandler: newCheckedHandler(new FakeTransport()),
      });
      const call = harness.newCalls('eks')({
        operation: 'DescribeCluster',
        kind: 'read',
        response: NamedResponse,
        send: () => client.send(new DescribeClusterCommand({ name: 'c' })),
      });
      expect(await expectFailure(call)).to.include({ code: 'NotPrepared', message });
    });

  it('when the signal of its pass has aborted before', async () => {
    const call = harness.newCalls('eks', { signal: AbortSignal.abort(new Error('stopped')) });
    expect(await expectFailure(call(requestOf('read', respondNamed)))).to.include({
      code: 'NotDispatched',
      message: 'stopped',
    });
  });

  it('after its deadline, however late the SDK sends it', async () => {
    let late: (() => void) | undefined;
    const outcome = expectFailure(
      harness.newCalls('eks')({
        operation: 'Operate',
        kind: 'mutation',
        response: NamedResponse,
        send: () => {
          late = currentDispatchOptions().beforeDispatch;
          return neverSettle();
        },
      }),
    );
    await harness.clock.advance(10_000);
    await outcome;
    expect(() => late?.()).to.throw();
  });

  it('when the limiter delays it too long', async () => {
    harness = new CallHarness(new FakeTransport(), 'eu-west-1', {
      acquire: (_bucket, _limit, _priority, signal) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    });
    const outcome = expectFailure(harness.newCalls('eks')(requestOf('read', respondNamed)));
    await harness.clock.advance(15_000);
    expect(await outcome).to.include({ code: 'NotDispatched', message: 'the rate limit: no result within 15 s' });
  });
});
