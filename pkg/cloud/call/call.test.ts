import { expect } from 'chai';
import * as E from 'fp-ts/lib/Either.js';
import { expectResponse, expectFailure, CallHarness } from '../testing/calls.ts';
import { FakeTransport } from '../testing/fake-transport.ts';
import { RESPONSE_METADATA, neverSettle, requestOf, respondNamed } from '../testing/requests.ts';

describe('An AWS call', () => {
  let harness: CallHarness;
  beforeEach(() => {
    harness = new CallHarness(new FakeTransport());
  });

  it('is decoded, counted, timed and logged', async () => {
    const call = harness.newCalls('eks')(
      requestOf('read', async () => {
        await new Promise<void>((resolve) => harness.clock.after(250, resolve));
        return respondNamed();
      }),
    );
    const outcome = expectResponse(call);
    await harness.clock.advance(250);
    expect(await outcome).to.include({ name: 'x' });
    expect(
      await harness.sumOf('aws_api_requests_total', {
        service: 'eks',
        operation: 'Operate',
        status_code: 200,
        error_code: '',
      }),
    ).to.equal(1);
    expect(
      await harness.sumOf('aws_api_request_duration_seconds', { service: 'eks', operation: 'Operate', le: 0.1 }),
    ).to.equal(0);
    expect(
      await harness.sumOf('aws_api_request_duration_seconds', { service: 'eks', operation: 'Operate', le: 0.25 }),
    ).to.equal(1);
    expect(harness.logger.linesWith('AWS call').map(({ level, keys }) => ({ level, keys }))).to.deep.equal([
      {
        level: 'debug',
        keys: {
          service: 'eks',
          operation: 'Operate',
          statusCode: 200,
          errorCode: '',
          requestId: 'request-1',
          milliseconds: 250,
        },
      },
    ]);
  });

  it('counts an error response under its code and status', async () => {
    const refusal = Object.assign(new Error('busy'), {
      name: 'ResourceInUseException',
      $fault: 'client',
      $metadata: { httpStatusCode: 409, requestId: 'request-2' },
    });
    const call = harness.newCalls('eks')(requestOf('mutation', () => Promise.reject(refusal)));
    expect(await expectFailure(call)).to.deep.equal({
      service: 'eks',
      operation: 'Operate',
      code: 'ResourceInUseException',
      statusCode: 409,
      message: 'busy',
      requestId: 'request-2',
    });
    expect(
      await harness.sumOf('aws_api_requests_total', { status_code: 409, error_code: 'ResourceInUseException' }),
    ).to.equal(1);
    expect(harness.logger.linesWith('AWS call')[0]?.keys).to.include({ requestId: 'request-2' });
  });

  describe('without a response', () => {
    it('fails a read after ten seconds, even if the transport ignores the signal', async () => {
      let signal: AbortSignal | undefined;
      const outcome = expectFailure(
        harness.newCalls('eks')(
          requestOf('read', ({ abortSignal }) => {
            signal = abortSignal;
            return neverSettle();
          }),
        ),
      );
      await harness.clock.advance(9_999);
      expect(signal?.aborted).to.equal(false);
      await harness.clock.advance(1);
      expect(await outcome).to.include({ code: 'NoAnswer', message: 'AWS: no result within 10 s' });
      expect(signal?.aborted).to.equal(true);
      expect(await harness.sumOf('aws_api_requests_total', { status_code: '', error_code: 'NoAnswer' })).to.equal(1);
      expect(harness.clock.pendingTimers()).to.deep.equal([]);
    });

    it('fails a mutation after its budget', async () => {
      const outcome = expectFailure(
        harness.newCalls('eks', { mutationBudget: () => 3_000 })(requestOf('mutation', neverSettle)),
      );
      await harness.clock.advance(3_000);
      expect(await outcome).to.include({ code: 'NoAnswer', message: 'AWS: no result within 3 s' });
    });

    it('fails when the signal of its pass aborts', async () => {
      const pass = new AbortController();
      const outcome = expectFailure(harness.newCalls('eks', { signal: pass.signal })(requestOf('read', neverSettle)));
      await harness.clock.settle();
      pass.abort(new Error('the manager stops'));
      expect(await outcome).to.include({ code: 'NoAnswer', message: 'the manager stops' });
      expect(harness.clock.pendingTimers()).to.deep.equal([]);
    });
  });

  it('reads the mutation budget when it is sent, after the limiter', async () => {
    const order: string[] = [];
    harness = new CallHarness(new FakeTransport(), {
      acquire: async () => {
        order.push('turn');
        return { settle: () => {} };
      },
    });
    const call = harness.newCalls('eks', {
      mutationBudget: () => {
        order.push('budget');
        return 1000;
      },
    });
    await call(
      requestOf('mutation', async () => {
        order.push('sent');
        return respondNamed();
      }),
    );
    expect(order).to.deep.equal(['turn', 'budget', 'sent']);
  });

  it('is counted with the time that it has waited for the limiter', async () => {
    harness = new CallHarness(new FakeTransport(), {
      acquire: async () => {
        await new Promise<void>((resolve) => harness.clock.after(2_000, resolve));
        return { settle: () => {} };
      },
    });
    const outcome = expectResponse(harness.newCalls('iam')(requestOf('mutation', async () => respondNamed())));
    await harness.clock.advance(2_000);
    await outcome;
    const waited = (le: number) =>
      harness.sumOf('capaf_aws_limiter_wait_seconds', { service: 'iam', kind: 'mutation', le });
    expect([await waited(1), await waited(2.5)]).to.deep.equal([0, 1]);
  });

  it('uses the limiter bucket of its account, service and kind, and reports its result', async () => {
    const turns: unknown[] = [];
    harness = new CallHarness(new FakeTransport(), {
      acquire: async (bucket, _limit, priority) => ({ settle: (outcome) => turns.push([bucket, priority(), outcome]) }),
    });
    const throttle = Object.assign(new Error('slow down'), {
      name: 'ThrottlingException',
      $fault: 'client',
      $metadata: { httpStatusCode: 429 },
    });
    await harness.newCalls('eks')(requestOf('read', respondNamed));
    await harness.newCalls('eks', { readPriority: () => 'poll' })(requestOf('read', respondNamed));
    await harness.newCalls('eks', { readPriority: () => 'poll' })(
      requestOf('mutation', () => Promise.reject(throttle)),
    );
    await harness.newCalls('iam', { rateLimitKeyPrefix: '1' })(
      requestOf('read', () => Promise.reject(new Error('reset'))),
    );
    expect(turns).to.deep.equal([
      ['test eks read', 'read', 'completed'],
      ['test eks read', 'poll', 'completed'],
      ['test eks mutation', 'mutation', 'throttled'],
      ['1 iam read', 'read', 'completed'],
    ]);
  });

  describe('with a response that cannot be decoded', () => {
    it('fails with the path of the wrong field', async () => {
      const call = harness.newCalls('eks')(requestOf('read', async () => ({ name: 7, ...RESPONSE_METADATA })));
      expect(await expectFailure(call)).to.deep.equal({
        service: 'eks',
        operation: 'Operate',
        code: 'Undecodable',
        statusCode: 200,
        message: 'the response is not as expected: name: expected string, got 7',
        requestId: 'request-1',
      });
      expect(await harness.sumOf('aws_api_requests_total', { error_code: 'Undecodable' })).to.equal(1);
    });

    it('fails without a request ID', async () => {
      const call = harness.newCalls('iam')(
        requestOf('mutation', async () => ({ name: 'x', $metadata: { httpStatusCode: 200 } })),
      );
      expect(await expectFailure(call)).to.include({
        code: 'Undecodable',
        message: 'HTTP 200 without a request ID: not a response of AWS',
      });
    });
  });

  it('has an unknown effect when its connection breaks, and keeps the thrown error as the cause', async () => {
    const reset = Object.assign(new Error('read ECONNRESET'), { name: 'TimeoutError', code: 'ECONNRESET' });
    const outcome = await harness.newCalls('eks')(requestOf('mutation', () => Promise.reject(reset)));
    if (E.isRight(outcome)) throw new Error('the call succeeded');
    expect(outcome.left).to.include({ code: 'NoAnswer', message: 'read ECONNRESET', cause: reset });
  });
});
