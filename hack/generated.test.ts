import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { generatedFiles } from './generated.ts';

describe('generated files', () => {
  for (const [path, content] of generatedFiles()) {
    it(`${path} is what make generate writes`, async () => {
      expect(await readFile(new URL(`../${path}`, import.meta.url), 'utf8')).to.equal(content);
    });
  }
});
