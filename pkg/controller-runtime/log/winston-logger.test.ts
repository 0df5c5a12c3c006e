import { Writable } from 'node:stream';
import { expect } from 'chai';
import { systemClock } from '../env/system.ts';
import { errorMessage } from '../text/error-text.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { createWinstonLogger, type ClosableLogger, type LoggingFormat } from './winston-logger.ts';

/** 2026-11-21T03:25:00.123Z */
const NOW = 1_795_231_500_123;

async function linesOf(
  format: LoggingFormat,
  log: (logger: ClosableLogger, clock: VirtualClock) => void,
  verbosity = 0,
): Promise<string> {
  const chunks: string[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk.toString());
      done();
    },
  });
  const clock = new VirtualClock(NOW);
  const logger = createWinstonLogger({ clock, format, verbosity, stream });
  log(logger, clock);
  await logger.flush();
  return chunks.join('').replaceAll(String(process.pid).padStart(7), '      1');
}

const circular = (): object => {
  const circle: Record<string, unknown> = {};
  circle['self'] = circle;
  return circle;
};

describe('the text logging format', () => {
  it('has klog’s header, quoted message and keys, and object keys as namespace/name', async () => {
    const text = await linesOf('text', (logger) =>
      logger.with({ controller: 'widget' }).info('Reconciling', {
        Widget: { namespace: 'default', name: 'batch' },
        Cluster: { namespace: '', name: 'global' },
        count: 3,
        ready: false,
        nothing: null,
        absent: undefined,
        size: 12n,
        list: ['a', { b: 1 }],
      }),
    );
    expect(text).to.equal(
      'I1121 03:25:00.123000       1 manager] "Reconciling" controller="widget" ' +
        'Widget="default/batch" Cluster="global" count=3 ready=false nothing=null size="12" ' +
        'list="[\\"a\\",{\\"b\\":1}]"\n',
    );
  });

  it('prints an error with its causes in one line, then the stacks', async () => {
    const error = new Error('patching the status', { cause: new Error('connect ECONNREFUSED') });
    const text = await linesOf('text', (logger) => logger.error('Reconciler error', error, { name: 'batch' }));
    expect(text).to.match(
      /^E1121 03:25:00\.123000 {7}1 manager] "Reconciler error" err="patching the status: connect ECONNREFUSED" name="batch" stack=<\n/,
    );
    expect(text).to.contain('\n\tError: patching the status\n\t    at ');
    expect(text).to.contain('\n\tCaused by: Error: connect ECONNREFUSED\n\t    at ');
    expect(text.endsWith('\n >\n')).to.equal(true);
  });

  it('does not let a value imitate a log line or send control characters to the terminal', async () => {
    const text = await linesOf('text', (logger) =>
      logger.info('Refused', { message: 'no\nE1121 03:25:00 1 manager] "forged"\n\u001b[31mred', tab: 'a\tb' }),
    );
    for (const line of text.trimEnd().split('\n').slice(1)) expect(line).to.match(/^(\t| >)/);
    expect(text).not.to.contain('\u001b');
    expect(text).to.contain('tab="a\\tb"');
  });

  it('shows C1 control characters and bidi overrides as escape sequences', async () => {
    const text = await linesOf('text', (logger) =>
      logger.info('Refused', { name: 'a\u009b31mred', tags: { key: 'b\u202ecod.exe' }, lines: 'one\n\u2066two' }),
    );
    expect(text).not.to.match(/[\u0080-\u009f]|\p{Bidi_Control}/u);
    expect(text).to.contain('name="a\\u009b31mred"').and.to.contain('b\\u202ecod.exe').and.to.contain('\t"\\u2066two"');
  });
});

describe('the JSON logging format', () => {
  it('has the fields of Kubernetes’ JSON logging', async () => {
    const text = await linesOf('json', (logger) =>
      logger.info('Reconciling', { Widget: { namespace: 'default', name: 'batch' }, count: 3 }),
    );
    expect(JSON.parse(text)).to.deep.equal({
      ts: NOW,
      level: 'info',
      msg: 'Reconciling',
      v: 0,
      Widget: { namespace: 'default', name: 'batch' },
      count: 3,
    });
  });

  it('prints an error with causes and stacks, also an error among the keys', async () => {
    const error = new Error('outer', { cause: new Error('inner') });
    const text = await linesOf('json', (logger) => logger.error('Failed', error, { other: new Error('second') }));
    expect(text.split('\n')).to.have.length(2);
    const line: unknown = JSON.parse(text);
    expect(line).to.include({ err: 'outer: inner', other: 'second', level: 'error' });
    expect(line).to.have.property('stack').that.contains('Caused by: Error: inner');
  });

  it('shows C1 control characters and bidi overrides as escape sequences of the same value', async () => {
    const text = await linesOf('json', (logger) => logger.info('Refused', { name: 'a\u009b31m\u202eb' }));
    expect(text).not.to.match(/[\u0080-\u009f]|\p{Bidi_Control}/u);
    expect(JSON.parse(text)).to.include({ name: 'a\u009b31m\u202eb' });
  });

  it('renames keys that have the name of a field', async () => {
    const text = await linesOf('json', (logger) => logger.info('Real', { msg: 'forged', level: 'error', err: 'x' }));
    expect(JSON.parse(text)).to.include({ msg: 'Real', level: 'info', msg_: 'forged', level_: 'error', err_: 'x' });
  });

  it('never throws for any keys', async () => {
    const text = await linesOf('json', (logger) => {
      logger.info('Circle', { circle: circular() });
      logger.info('Getter', {
        object: {
          get broken(): string {
            throw new Error('no');
          },
        },
      });
    });
    expect(text).to.contain('[circular]').and.to.contain('"msg":"Getter"');
  });
});

describe('every logging format', () => {
  it('prints debug lines from --v 4 on', async () => {
    const log = (logger: ClosableLogger): void => logger.debug('Details');
    expect(await linesOf('text', log, 3)).to.equal('');
    expect(await linesOf('text', log, 4)).to.contain('"Details"');
    expect(await linesOf('json', log, 4)).to.contain('"v":4');
  });

  it('writes all lines before flush resolves, also to a slow stream, and later lines too', async () => {
    let text = '';
    const stream = new Writable({
      highWaterMark: 16,
      write(chunk: Buffer, _encoding, done) {
        text += chunk.toString();
        systemClock.after(0, done);
      },
    });
    const logger = createWinstonLogger({ clock: new VirtualClock(), format: 'text', verbosity: 0, stream });
    for (let index = 0; index < 5_000; index++) logger.info('line', { index });
    await logger.flush();
    expect(text.trimEnd().split('\n')).to.have.length(5_000);
    logger.info('after');
    await logger.flush();
    const lines = text.trimEnd().split('\n');
    expect(lines).to.have.length(5_001);
    expect(lines.at(-2)).to.contain('index=4999');
    expect(lines.at(-1)).to.contain('"after"');
  });
});

describe('errorMessage', () => {
  it('joins causes, leaves out repeated messages, and stops at a circular cause', () => {
    expect(errorMessage(new Error('a', { cause: new Error('b', { cause: 'c' }) }))).to.equal('a: b: c');
    expect(errorMessage(new Error('a: b', { cause: new Error('b') }))).to.equal('a: b');
    const circle = new Error('round');
    circle.cause = circle;
    expect(errorMessage(circle)).to.equal('round');
  });

  it('returns a text for any thrown value', () => {
    expect(errorMessage(new AggregateError([new Error('one'), new Error('two')]))).to.equal('one; two');
    expect(errorMessage({ code: 7 })).to.equal('{"code":7}');
    expect(errorMessage(new TypeError())).to.equal('TypeError');
    expect(errorMessage(undefined)).to.equal('undefined');
    expect(errorMessage(null)).to.equal('null');
  });
});

describe('setVerbosity', () => {
  it('applies to the logger and to the loggers derived from it, before and after', async () => {
    const text = await linesOf('text', (logger) => {
      const child = logger.with({ controller: 'x' });
      child.debug('before');
      logger.setVerbosity(4);
      child.debug('during');
      logger.debug('during too');
      logger.setVerbosity(3);
      child.debug('after');
      logger.info('info');
    });
    expect([...text.matchAll(/\] "([^"]+)"/g)].map(([, message]) => message)).to.deep.equal([
      'during',
      'during too',
      'info',
    ]);
  });
});
