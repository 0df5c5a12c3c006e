import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, rootCertificates } from 'node:tls';
import { expect } from 'chai';
import * as E from 'fp-ts/lib/Either.js';
import { awsCertificateAuthorities } from './ca-bundle.ts';

const [FIRST = '', SECOND = ''] = rootCertificates;

describe('AWS_CA_BUNDLE', () => {
  let dir = '';
  let file = '';
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'ca-bundle-'));
    file = join(dir, 'ca.pem');
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  it('takes the place of the default authorities, beside those of NODE_EXTRA_CA_CERTS', () => {
    writeFileSync(file, `# Company CA\n${FIRST}\nSecond\n${SECOND}`);
    expect(awsCertificateAuthorities({ AWS_CA_BUNDLE: file })).to.deep.equal(
      E.right([FIRST, SECOND, ...getCACertificates('extra')]),
    );
  });

  it('that is not set leaves the default authorities', () => {
    expect(awsCertificateAuthorities({})).to.deep.equal(E.right(undefined));
    expect(awsCertificateAuthorities({ AWS_CA_BUNDLE: '' })).to.deep.equal(E.right(undefined));
  });

  const fix = 'Name a file of certificates in PEM, or unset the variable';
  for (const [what, content, problem] of [
    ['is missing', undefined, 'cannot be read: ENOENT'],
    ['is empty', '', 'has no certificate in PEM'],
    ['has only a key', '-----BEGIN PRIVATE KEY-----\nhush\n-----END PRIVATE KEY-----\n', 'has no certificate in PEM'],
    [
      'has a damaged certificate',
      `${FIRST}\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`,
      'has an invalid certificate, number 2',
    ],
  ] as const)
    it(`is refused with its name when the file ${what}`, () => {
      if (content !== undefined) writeFileSync(file, content);
      expect(awsCertificateAuthorities({ AWS_CA_BUNDLE: file })).to.deep.equal(
        E.left(`the file ${file} of the environment variable AWS_CA_BUNDLE ${problem}. ${fix}`),
      );
    });

  it('is refused with its name when it is a folder', () => {
    expect(awsCertificateAuthorities({ AWS_CA_BUNDLE: dir })).to.deep.equal(
      E.left(`the file ${dir} of the environment variable AWS_CA_BUNDLE cannot be read: EISDIR. ${fix}`),
    );
  });
});
