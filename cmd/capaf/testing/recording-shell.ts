import { spawnSync } from 'node:child_process';
import { expect } from 'chai';
import fc from 'fast-check';
import { toPrintableLine } from 'controller-runtime/text';

/** The programs in printed commands. A shell function replaces each. */
const PROGRAMS = ['aws', 'kubectl', 'terraform', 'eksctl', 'capaf'];

/**
 * Runs a line as a user would paste it, and returns the words of each program that would run. The shell has no other
 * program and cannot write files, so a word that leaves its quotes fails the test without harm.
 */
export function recordCommands(line: string, shell = '/bin/sh'): readonly (readonly string[])[] {
  const recorders = PROGRAMS.map((name) => `${name}() { printf '%s\\0' ${name} "$@"; printf '\\n\\0'; }`);
  const script = ['PATH=/nonexistent', 'set -C', ...recorders, line].join('\n');
  const { status, stdout, stderr } = spawnSync(shell, ['-c', script], { encoding: 'utf8', cwd: '/' });
  expect({ status, stderr }, line).to.deep.equal({ status: 0, stderr: '' });
  return stdout
    .split('\n\0')
    .slice(0, -1)
    .map((words) => words.split('\0').slice(0, -1));
}

const FRAGMENTS = [
  '$(id)',
  '`id`',
  '${HOME}',
  "'",
  '"',
  '\\',
  ';id;',
  '&& id',
  '| id',
  '> /x',
  '*',
  '~',
  '{a,b}',
  '!!',
  '#',
  ' ',
  '\n',
  '\r',
  '\t',
  '\u001b[31m',
  '\u202e',
  '--all',
  '-n',
  '=ls',
];

/** Texts that a shell, a terminal, or a program's option parser could misinterpret. */
export const hostileText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...FRAGMENTS),
  fc
    .array(fc.oneof(fc.constantFrom(...FRAGMENTS), fc.string({ maxLength: 3 })), { maxLength: 6 })
    .map((all) => all.join('')),
  fc.string({ unit: 'binary', maxLength: 20 }),
);

/**
 * Checks that the printed commands have the same words for a hostile text as for a harmless one, with only that text
 * replaced.
 */
export function expectSameWords(commandsFor: (text: string) => readonly string[]): void {
  const wordsFor = (text: string) => recordCommands(commandsFor(text).map(toPrintableLine).join('\n'));
  const harmless = wordsFor('VALUE');
  expect(harmless.flat().join(' ')).to.contain('VALUE');
  fc.assert(
    fc.property(hostileText, (text) => {
      const expected = harmless.map((words) =>
        words.map((word) => toPrintableLine(word.replaceAll('VALUE', () => text))),
      );
      expect(wordsFor(text)).to.deep.equal(expected);
    }),
  );
}
