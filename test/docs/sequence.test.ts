import { expect } from 'chai';
import { type Message, findDeviation, parseSequence } from './sequence.ts';

const diagram = (...lines: readonly string[]): string =>
  ['sequenceDiagram', 'actor A', 'participant B as the other', ...lines].join('\n');
/**
 * Returns the messages of a sequence diagram, one for each text, all from participant A to participant B. B's display
 * name is "the other".
 */
const run = (...texts: readonly string[]): readonly Message[] =>
  texts.map((text) => ({ from: 'A', to: 'the other', text }));
const says = (...texts: readonly string[]): readonly string[] => texts.map((text) => `A->>B: ${text}`);

const allows = (lines: readonly string[], ...texts: readonly string[]): boolean =>
  findDeviation(run(...texts), parseSequence(diagram(...lines))) === undefined;

describe('a sequence diagram', () => {
  it('allows its messages in their order, and no others', () => {
    const lines = says('one', 'two');
    expect(allows(lines, 'one', 'two')).to.equal(true);
    expect(allows(lines, 'two', 'one')).to.equal(false);
    expect(allows(lines, 'one')).to.equal(false);
    expect(allows(lines, 'one', 'two', 'three')).to.equal(false);
    expect(allows(lines, 'one', 'one', 'two')).to.equal(false);
  });

  it('compares sender and receiver', () => {
    const sequence = parseSequence(diagram('B-->>A: yes', 'B--xA: no'));
    const answer = (text: string): Message => ({ from: 'the other', to: 'A', text });
    expect(findDeviation([answer('yes'), answer('no')], sequence)).to.equal(undefined);
    expect(findDeviation([{ from: 'A', to: 'the other', text: 'yes' }, answer('no')], sequence)).not.to.equal(
      undefined,
    );
  });

  it('allows any interleaving of the branches of par', () => {
    const lines = ['par', ...says('a1', 'a2'), 'and', ...says('b1', 'b2'), 'end', ...says('last')];
    expect(allows(lines, 'a1', 'a2', 'b1', 'b2', 'last')).to.equal(true);
    expect(allows(lines, 'b1', 'a1', 'b2', 'a2', 'last')).to.equal(true);
    expect(allows(lines, 'b2', 'b1', 'a1', 'a2', 'last')).to.equal(false);
    expect(allows(lines, 'a1', 'a2', 'last')).to.equal(false);
    expect(allows(lines, 'a1', 'a2', 'b1', 'last', 'b2')).to.equal(false);
  });

  it('allows loop once or more often, and opt at most once', () => {
    const lines = ['loop until it works', ...says('try', 'fail'), 'end', 'opt', ...says('rest'), 'end'];
    expect(allows(lines, 'try', 'fail')).to.equal(true);
    expect(allows(lines, 'try', 'fail', 'try', 'fail', 'rest')).to.equal(true);
    expect(allows(lines, 'rest')).to.equal(false);
    expect(allows(lines, 'try', 'fail', 'try')).to.equal(false);
    expect(allows(lines, 'try', 'fail', 'rest', 'rest')).to.equal(false);
  });

  it('allows blocks inside blocks', () => {
    const lines = ['par', 'loop', ...says('try'), 'end', 'and', 'par', ...says('a'), 'and', ...says('b'), 'end', 'end'];
    expect(allows(lines, 'b', 'try', 'a', 'try')).to.equal(true);
    expect(allows(lines, 'b', 'a')).to.equal(false);
  });

  it('ignores notes and comments', () => {
    const lines = ['autonumber', 'Note over A,B: nothing is said here', '%% nor here', ...says('one')];
    expect(allows(lines, 'one')).to.equal(true);
  });

  it('reports the first message that differs', () => {
    const sequence = parseSequence(diagram(...says('one'), 'par', ...says('two'), 'and', ...says('three'), 'end'));
    expect(findDeviation(run('one', 'four'), sequence)).to.equal(
      [
        'the run:',
        '    A → the other: one',
        '  > A → the other: four',
        'the diagram has here:',
        '    A → the other: two',
        '    A → the other: three',
      ].join('\n'),
    );
    expect(findDeviation(run('one', 'three'), sequence)).to.equal(
      'the run ends, but the diagram continues with:\n    A → the other: two',
    );
  });

  it('is rejected when the parser does not know a line', () => {
    const refusal = (...lines: readonly string[]): string => {
      try {
        parseSequence(diagram(...lines));
        return 'none';
      } catch (error) {
        return error instanceof Error ? error.message : '';
      }
    };
    expect(refusal('alt', ...says('one'), 'end')).to.match(/line 4 .* not understood/);
    expect(refusal('A->>C: one')).to.match(/no participant C/);
    expect(refusal('A->B: one')).to.match(/not understood/);
    expect(refusal('end')).to.match(/more ends/);
    expect(refusal('loop', 'and', 'end')).to.match(/outside of "par"/);
    expect(refusal('loop', ...says('one'))).to.match(/ends within a block/);
  });
});
