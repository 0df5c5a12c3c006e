import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { readCertificate } from './apiserver.ts';

const CERTIFICATE = '-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n';

describe('the certificate of a starting API server', () => {
  let path: string;
  before(async () => {
    path = join(await mkdtemp(join(tmpdir(), 'capaf-certificate-')), 'apiserver.crt');
  });
  after(() => rm(join(path, '..'), { recursive: true }));

  for (const [what, text] of [
    ['empty', ''],
    ['half written', CERTIFICATE.slice(0, 40)],
  ] as const)
    it(`is not read while its file is ${what}`, async () => {
      await writeFile(path, text);
      const error: unknown = await readCertificate(path).catch((thrown: unknown) => thrown);
      expect(String(error)).to.equal(`Error: ${path} is not complete`);
    });

  it('is read when its file is complete', async () => {
    await writeFile(path, CERTIFICATE);
    expect(await readCertificate(path)).to.equal(CERTIFICATE);
  });
});
