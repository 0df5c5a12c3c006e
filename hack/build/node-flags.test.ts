import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { ASSIGNMENTS, NODE_FLAGS } from './node-flags.ts';

describe('the flags of Node.js', () => {
  it('and the environment variables are those of the Containerfile', async () => {
    const containerfile = await readFile(new URL('../../Containerfile', import.meta.url), 'utf8');
    const [, entrypoint = ''] = /^ENTRYPOINT (.*)$/m.exec(containerfile) ?? [];
    expect(JSON.parse(entrypoint)).to.deep.equal(['/usr/bin/node', ...NODE_FLAGS, '/manager.mjs']);
    const [, environment = ''] = /^ENV (.*)$/m.exec(containerfile) ?? [];
    expect(environment.split(' ')).to.deep.equal(['PATH=/usr/bin', ...ASSIGNMENTS]);
  });
});
