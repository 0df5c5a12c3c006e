import { expect } from 'chai';
import { runCapaf } from './program.ts';
import { quietIo } from './testing/quiet-io.ts';

async function outputOf(...args: readonly string[]): Promise<string> {
  let output = '';
  const out = (text: string): void => void (output += text);
  await runCapaf(args, quietIo({ out, err: out }));
  return output;
}

describe('the completion of capaf', () => {
  for (const [words, found] of [
    [[''], 'plan explain status pods import doctor version completion'],
    [['e'], 'explain'],
    [['explain', ''], 'pod'],
    [['import', '--from', 'c'], 'cloudformation crossplane'],
    [['plan', '-o', ''], 'text json'],
    [['doctor', '--scan'], '--scan-roles'],
    [['plan', '-n', ''], ''],
  ] as const)
    it(`offers "${found}" after "${words.join(' ')}"`, async () => {
      const output = await outputOf('complete', '--', ...words);
      expect(output.split('\n').slice(0, -1).join(' ')).to.equal(found);
    });

  it('has a script for each shell, which asks capaf', async () => {
    for (const shell of ['bash', 'fish', 'zsh'])
      expect(await outputOf('completion', shell), shell).to.contain('capaf complete -- ');
    expect(await outputOf('completion', 'tcsh')).to.contain('Allowed choices are bash, fish, zsh.');
  });
});
