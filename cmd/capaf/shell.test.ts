import { expect } from 'chai';
import fc from 'fast-check';
import { shellCommand, toPrintableLine } from 'controller-runtime/text';
import { hostileText, recordCommands } from './testing/recording-shell.ts';

/** Returns the command as it is printed, on one line. */
const printed = (words: readonly string[]): string => toPrintableLine(shellCommand(words));

describe('a command for the user', () => {
  it('needs no quotes for the names of AWS and Kubernetes', () => {
    const words = ['kubectl', '-n', 'team-a', 'patch', 'fargateprofiles.eks.aws/web', '--type=merge'];
    expect(shellCommand(words)).to.equal('kubectl -n team-a patch fargateprofiles.eks.aws/web --type=merge');
    expect(shellCommand(['aws', '--role=arn:aws:iam::1:role/a+b,c.d@e'])).not.to.contain("'");
  });

  it('quotes everything else', () => {
    expect(shellCommand(['aws', '', "it's", '$(id)', '=ls'])).to.equal(`aws '' 'it'\\''s' '$(id)' '=ls'`);
  });

  for (const shell of ['/bin/sh', '/bin/bash'])
    it(`has in ${shell} the very words that it was written with`, () => {
      fc.assert(
        fc.property(fc.array(hostileText, { maxLength: 20 }), (values) => {
          const words = ['aws', ...values];
          expect(recordCommands(printed(words), shell)).to.deep.equal([words.map(toPrintableLine)]);
        }),
      );
    });

  it('keeps its quotes closed where words have no end', () => {
    const words = ["'", '\u202e', '$'].map((character) => character.repeat(1_000_000));
    const [[, ...recorded] = []] = recordCommands(printed(['aws', ...words, 'end']));
    expect(recorded.map(({ length }) => length)).to.deep.equal([2_048, 2_048, 2_048, 3]);
  });
});
