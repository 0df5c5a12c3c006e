import { X509Certificate, createPrivateKey } from 'node:crypto';
import { expect } from 'chai';
import { SeededRandom } from '../testing/seeded-random.ts';
import { parseTimestamp } from '../env/timestamp.ts';
import { selfSignedCertificate } from './self-signed-certificate.ts';

const AT = parseTimestamp('2026-11-22T15:00:00Z') ?? 0;
const YEAR = 365 * 24 * 3_600_000;

const certificateOf = (hostname: string, notAfter = AT + YEAR): readonly [X509Certificate, string] => {
  const { cert, key } = selfSignedCertificate({ hostname, notBefore: AT, notAfter }, new SeededRandom(1));
  return [new X509Certificate(cert), key];
};

describe('selfSignedCertificate', () => {
  it('makes a certificate of a TLS server for its key, its host and the loopback', () => {
    const [certificate, key] = certificateOf('manager-0');
    expect(certificate.checkPrivateKey(createPrivateKey(key))).to.equal(true);
    expect(certificate.verify(certificate.publicKey)).to.equal(true);
    expect(certificate).to.include({ subject: 'CN=manager-0', issuer: 'CN=manager-0', ca: false });
    expect(certificate.keyUsage, 'the extended key usage').to.deep.equal(['1.3.6.1.5.5.7.3.1']);
    for (const host of ['localhost', 'manager-0']) expect(certificate.checkHost(host), host).to.equal(host);
    for (const address of ['127.0.0.1', '::1']) expect(certificate.checkIP(address), address).to.equal(address);
    for (const address of ['127.0.0.2', '::2']) expect(certificate.checkIP(address), address).to.equal(undefined);
  });

  it('is right for host names of every length', () => {
    for (const length of [1, 40, 63, 120, 200, 253]) {
      const [certificate] = certificateOf('x'.repeat(length));
      expect(certificate.verify(certificate.publicKey), `${length}`).to.equal(true);
      expect(certificate.subjectAltName).to.contain(`DNS:${'x'.repeat(length)}, DNS:localhost, IP Address:127.0.0.1`);
    }
  });

  it('is valid for the requested time, also after 2049', () => {
    const late = parseTimestamp('2051-01-02T03:04:05Z') ?? 0;
    for (const end of [AT + YEAR, late]) {
      const [certificate] = certificateOf('localhost', end);
      expect(certificate.validFromDate.getTime()).to.equal(AT);
      expect(certificate.validToDate.getTime()).to.equal(end);
    }
  });

  it('has a positive serial number for any randomness, and another one each time', () => {
    const serials = Array.from({ length: 50 }, (_none, seed) => {
      const request = { hostname: 'localhost', notBefore: AT, notAfter: AT + YEAR };
      return new X509Certificate(selfSignedCertificate(request, new SeededRandom(seed)).cert).serialNumber;
    });
    for (const serial of serials) expect(serial).to.match(/^[4-7][0-9A-F]{31}$/);
    expect(new Set(serials).size).to.equal(serials.length);
  });
});
