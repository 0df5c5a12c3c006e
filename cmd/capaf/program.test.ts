import { expect } from 'chai';
import { runCapaf } from './program.ts';
import { quietIo } from './testing/quiet-io.ts';

async function run(...args: readonly string[]): Promise<{ code: number; text: string }> {
  let text = '';
  const add = (more: string): void => void (text += more);
  return { code: await runCapaf(args, quietIo({ out: add, err: add })), text };
}

describe('the command line', () => {
  const commands = ['plan', 'explain pod', 'status', 'pods', 'import', 'doctor'];
  for (const command of commands)
    it(`has examples in capaf ${command} --help`, async () => {
      const { code, text } = await run(...command.split(' '), '--help');
      expect(code).to.equal(0);
      expect(text).to.contain(`\nExamples:\n  capaf ${command} `);
    });

  for (const command of commands)
    it(`names an unknown option of capaf ${command}, whatever else is missing, and says where the options are`, async () => {
      const { code, text } = await run(...command.split(' '), '--nosuch');
      expect(code).to.equal(1);
      expect(text).to.equal(`error: unknown option '--nosuch'\n(capaf ${command} --help shows its options)\n`);
    });

  const withWorkload = ['plan', 'explain pod web --cluster prod', 'status --cluster prod', 'doctor'];
  for (const command of [...withWorkload, 'pods --cluster prod'])
    it(`ends with an error if the file of --workload-kubeconfig does not exist, for capaf ${command}`, async () => {
      const message = await run(...command.split(' '), '--workload-kubeconfig', '/nowhere').then(
        ({ text }) => text,
        ({ message: text }: Error) => text,
      );
      expect(message).to.equal('kubeconfig /nowhere: no such file');
    });

  it('ends with an error if capaf status is to show named objects in all namespaces', async () => {
    const message = await run('status', 'web', '-A').then(
      ({ text }) => text,
      ({ message: text }: Error) => text,
    );
    expect(message).to.equal('the objects with these names are in one namespace; name it with -n instead of -A');
  });

  it('says that an import needs the namespace of the objects', async () => {
    const { text } = await run('import', '--help');
    expect(text).to.match(/-n, --namespace <name> +required: the namespace of the objects/);
    expect(text.match(/--namespace/g)).to.have.length(1);
  });
});
