import { expect } from 'chai';
import { formatAddress, requireLoopback, parseAddress } from './address.ts';

describe('parseAddress', () => {
  it('accepts the addresses of Go programs', () => {
    expect(parseAddress('health-addr', ':9440')).to.deep.equal({ port: 9440 });
    expect(parseAddress('health-addr', '127.0.0.1:9440')).to.deep.equal({ host: '127.0.0.1', port: 9440 });
    expect(parseAddress('health-addr', 'localhost:0')).to.deep.equal({ host: 'localhost', port: 0 });
    expect(parseAddress('health-addr', '[::1]:9440')).to.deep.equal({ host: '::1', port: 9440 });
    expect(parseAddress('health-addr', '[::]:65535')).to.deep.equal({ host: '::', port: 65_535 });
  });

  it('returns undefined for 0 and the empty string', () => {
    expect(parseAddress('health-addr', '0')).to.equal(undefined);
    expect(parseAddress('health-addr', '')).to.equal(undefined);
  });

  it('rejects any other text and names the flag', () => {
    for (const text of ['9440', ':', ':65536', ':-1', ':port', '::1:9440', 'a b:1', 'http://x:1', '[::1]', '1.2.3.4'])
      expect(() => parseAddress('health-addr', text), text).to.throw(`--health-addr: "${text}" is no address`);
  });
});

describe('requireLoopback', () => {
  const bind = (text: string): string => {
    const address = parseAddress('diagnostics-address', text);
    if (address === undefined) return 'nothing';
    return formatAddress(requireLoopback('diagnostics-address', address, 'give --insecure-diagnostics'));
  };

  it('sets 127.0.0.1 without a host, keeps a loopback host and rejects any other', () => {
    expect(bind(':8443')).to.equal('127.0.0.1:8443');
    for (const text of ['localhost:8443', '127.0.0.2:8443', '[::1]:8443']) expect(bind(text)).to.equal(text);
    for (const text of ['0.0.0.0:8443', '[::]:8443', '10.0.0.7:8443', 'example.org:8443', '127.0.0.1.example.org:8443'])
      expect(() => bind(text), text).to.throw(
        `--diagnostics-address: ${text} can be reached from other machines; give --insecure-diagnostics`,
      );
  });
});
