import { expect } from 'chai';
import { parseAddress } from './address.ts';

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
