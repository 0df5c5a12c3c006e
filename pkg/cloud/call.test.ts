import { expect } from 'chai';
import * as E from 'fp-ts/lib/Either.js';
import * as s from '../../api/schema/field.ts';
import { answerOf, failureOf, Workbench } from './testing/calls.ts';
import type { Kind } from './limits.ts';
import type { DispatchOptions } from './sdk-handler.ts';
import { FakeTransport } from './testing/fake-transport.ts';
import type { Request } from './call.ts';

const metadata = { $metadata: { httpStatusCode: 200, requestId: 'request-1' } };
const Answer = s.object({ name: s.string() });

/** A request whose command goes out at once and then does what the test says. */
function request(kind: Kind, work: (options: DispatchOptions) => Promise<unknown>): Request<{ readonly name: string }> {
  return {
    operation: 'Operate',
    kind,
    answer: Answer,
    send: async (options) => {
      options.beforeDispatch();
      return work(options);
    },
  };
}

const answered = async (): Promise<unknown> => ({ name: 'x', ...metadata });
const never = (): Promise<unknown> => new Promise(() => {});

describe('a call of AWS', () => {
  let bench: Workbench;
  beforeEach(() => {
    bench = new Workbench(new FakeTransport());
  });

  it('is decoded, counted, timed and logged', async () => {
    const call = bench.calling('eks')(
      request('read', async () => {
        await new Promise<void>((resolve) => bench.clock.after(250, resolve));
        return answered();
      }),
    );
    const outcome = answerOf(call);
    await bench.clock.advance(250);
    expect(await outcome).to.include({ name: 'x' });
    expect(
      await bench.counted('aws_api_requests_total', {
        service: 'eks',
        operation: 'Operate',
        status_code: 200,
        error_code: '',
      }),
    ).to.equal(1);
    expect(
      await bench.counted('aws_api_request_duration_seconds', { service: 'eks', operation: 'Operate', le: 0.1 }),
    ).to.equal(0);
    expect(
      await bench.counted('aws_api_request_duration_seconds', { service: 'eks', operation: 'Operate', le: 0.25 }),
    ).to.equal(1);
    expect(bench.logger.said('AWS call').map(({ level, keys }) => ({ level, keys }))).to.deep.equal([
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

  it('counts a refusal under its code and status', async () => {
    const refusal = Object.assign(new Error('busy'), {
      name: 'ResourceInUseException',
      $fault: 'client',
      $metadata: { httpStatusCode: 409, requestId: 'request-2' },
    });
    const call = bench.calling('eks')(request('mutation', () => Promise.reject(refusal)));
    expect(await failureOf(call)).to.deep.equal({
      service: 'eks',
      operation: 'Operate',
      code: 'ResourceInUseException',
      statusCode: 409,
      message: 'busy',
      requestId: 'request-2',
    });
    expect(
      await bench.counted('aws_api_requests_total', { status_code: 409, error_code: 'ResourceInUseException' }),
    ).to.equal(1);
    expect(bench.logger.said('AWS call')[0]?.keys).to.include({ requestId: 'request-2' });
  });

  it('hands each failure to whoever watches the credentials', async () => {
    const seen: string[] = [];
    const call = bench.calling('iam', { onFailure: ({ code }) => seen.push(code) });
    await call(request('read', () => Promise.reject(new Error('reset'))))();
    await call(request('read', answered))();
    expect(seen).to.deep.equal(['NoAnswer']);
  });

  describe('that is never answered', () => {
    it('costs a read ten seconds, even if nobody listens to the signal', async () => {
      let signal: AbortSignal | undefined;
      const outcome = failureOf(
        bench.calling('eks')(
          request('read', ({ abortSignal }) => {
            signal = abortSignal;
            return never();
          }),
        ),
      );
      await bench.clock.advance(9_999);
      expect(signal?.aborted).to.equal(false);
      await bench.clock.advance(1);
      expect(await outcome).to.include({ code: 'NoAnswer', message: 'AWS: no result within 10 s' });
      expect(signal?.aborted).to.equal(true);
      expect(await bench.counted('aws_api_requests_total', { status_code: '', error_code: 'NoAnswer' })).to.equal(1);
      expect(bench.clock.pendingTimers()).to.deep.equal([]);
    });

    it('costs a mutation its budget', async () => {
      const outcome = failureOf(bench.calling('eks', { mutationBudget: () => 3_000 })(request('mutation', never)));
      await bench.clock.advance(3_000);
      expect(await outcome).to.include({ code: 'NoAnswer', message: 'AWS: no result within 3 s' });
    });

    it('ends with its pass', async () => {
      const pass = new AbortController();
      const outcome = failureOf(bench.calling('eks', { signal: pass.signal })(request('read', never)));
      await bench.clock.settle();
      pass.abort(new Error('the manager stops'));
      expect(await outcome).to.include({ code: 'NoAnswer', message: 'the manager stops' });
      expect(bench.clock.pendingTimers()).to.deep.equal([]);
    });
  });

  describe('is not sent, and is not counted,', () => {
    const expectNothingSent = async (): Promise<void> => {
      expect(await bench.counted('aws_api_requests_total', {})).to.equal(0);
      expect(bench.clock.pendingTimers()).to.deep.equal([]);
    };

    it('when leadership leaves no time', async () => {
      for (const budget of [0, -5, NaN]) {
        let sent = false;
        const call = bench.calling('eks', { mutationBudget: () => budget });
        const failure = await failureOf(
          call(
            request('mutation', async () => {
              sent = true;
              return answered();
            }),
          ),
        );
        expect(failure.code).to.equal('NotDispatched');
        expect(failure.message).to.contain('leadership');
        expect(sent).to.equal(false);
      }
      await expectNothingSent();
    });

    it('when leadership is lost while the request is prepared', async () => {
      let budget = 10_000;
      const outcome = failureOf(
        bench.calling('eks', { mutationBudget: () => budget })({
          operation: 'Operate',
          kind: 'mutation',
          answer: Answer,
          send: async ({ beforeDispatch }) => {
            await new Promise<void>((resolve) => bench.clock.after(100, resolve));
            beforeDispatch();
            return answered();
          },
        }),
      );
      await bench.clock.advance(50);
      budget = 0;
      await bench.clock.advance(50);
      expect((await outcome).code).to.equal('NotDispatched');
      await expectNothingSent();
    });

    it('when leadership runs out while the transport connects', async () => {
      let budget = 10_000;
      const call = bench.calling('eks', { mutationBudget: () => budget })(
        request('mutation', async ({ beforeSend }) => {
          beforeSend();
          // As a process that was stopped: no time has passed for its timers.
          budget = -1;
          beforeSend();
          return answered();
        }),
      );
      const failure = await failureOf(call);
      expect(failure.code).to.equal('NotDispatched');
      expect(failure.message).to.contain('leadership');
      await expectNothingSent();
    });

    it('when it cannot be prepared in time', async () => {
      const outcome = failureOf(
        bench.calling('eks')({ operation: 'Operate', kind: 'read', answer: Answer, send: never }),
      );
      await bench.clock.advance(10_000);
      expect(await outcome).to.include({
        code: 'NotDispatched',
        message: 'preparing the request: no result within 10 s',
      });
      await expectNothingSent();
    });

    it('when its pass has ended before', async () => {
      const call = bench.calling('eks', { signal: AbortSignal.abort(new Error('stopped')) });
      expect(await failureOf(call(request('read', answered)))).to.include({
        code: 'NotDispatched',
        message: 'stopped',
      });
      await expectNothingSent();
    });

    it('once its deadline is over, however late the SDK comes to send it', async () => {
      let late: (() => void) | undefined;
      const outcome = failureOf(
        bench.calling('eks')({
          operation: 'Operate',
          kind: 'mutation',
          answer: Answer,
          send: ({ beforeDispatch }) => {
            late = beforeDispatch;
            return never();
          },
        }),
      );
      await bench.clock.advance(10_000);
      await outcome;
      expect(() => late?.()).to.throw();
      await expectNothingSent();
    });

    it('when its turn does not come', async () => {
      bench = new Workbench(new FakeTransport(), 'eu-west-1', {
        acquire: (_bucket, _limit, _priority, signal) =>
          new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      });
      const outcome = failureOf(bench.calling('eks')(request('read', answered)));
      await bench.clock.advance(15_000);
      expect(await outcome).to.include({ code: 'NotDispatched', message: 'the rate limit: no result within 15 s' });
      await expectNothingSent();
    });
  });

  it('asks for leadership at the moment of sending, after its turn', async () => {
    const order: string[] = [];
    bench = new Workbench(new FakeTransport(), 'eu-west-1', {
      acquire: async () => {
        order.push('turn');
        return { settle: () => {} };
      },
    });
    const call = bench.calling('eks', {
      mutationBudget: () => {
        order.push('budget');
        return 1000;
      },
    });
    await call(
      request('mutation', async () => {
        order.push('sent');
        return answered();
      }),
    )();
    expect(order).to.deep.equal(['turn', 'budget', 'sent']);
  });

  it('takes its turn in the bucket of account, service and kind, and tells what came of it', async () => {
    const turns: unknown[] = [];
    bench = new Workbench(new FakeTransport(), 'eu-west-1', {
      acquire: async (bucket, _limit, priority) => ({ settle: (outcome) => turns.push([bucket, priority, outcome]) }),
    });
    const throttle = Object.assign(new Error('slow down'), {
      name: 'ThrottlingException',
      $fault: 'client',
      $metadata: { httpStatusCode: 429 },
    });
    await bench.calling('eks')(request('read', answered))();
    await bench.calling('eks', { polling: true })(request('read', answered))();
    await bench.calling('eks', { polling: true })(request('mutation', () => Promise.reject(throttle)))();
    await bench.calling('iam', { limitedAs: '1' })(request('read', () => Promise.reject(new Error('reset'))))();
    expect(turns).to.deep.equal([
      ['test eks read', 'read', 'answered'],
      ['test eks read', 'poll', 'answered'],
      ['test eks mutation', 'mutation', 'throttled'],
      ['1 iam read', 'read', 'answered'],
    ]);
  });

  describe('with an answer that makes no sense', () => {
    it('names the path', async () => {
      const call = bench.calling('eks')(request('read', async () => ({ name: 7, ...metadata })));
      expect(await failureOf(call)).to.deep.equal({
        service: 'eks',
        operation: 'Operate',
        code: 'Undecodable',
        statusCode: 200,
        message: 'the answer is not as expected: name: expected string, got 7',
        requestId: 'request-1',
      });
      expect(await bench.counted('aws_api_requests_total', { error_code: 'Undecodable' })).to.equal(1);
    });

    it('is none without a request id', async () => {
      const call = bench.calling('iam')(
        request('mutation', async () => ({ name: 'x', $metadata: { httpStatusCode: 200 } })),
      );
      expect(await failureOf(call)).to.include({
        code: 'Undecodable',
        message: 'HTTP 200 without a request id: no answer of AWS',
      });
    });
  });

  it('keeps what was thrown as the cause', async () => {
    const reset = new Error('read ECONNRESET');
    const outcome = await bench.calling('eks')(request('read', () => Promise.reject(reset)))();
    expect(E.isLeft(outcome) && outcome.left.cause).to.equal(reset);
  });
});
