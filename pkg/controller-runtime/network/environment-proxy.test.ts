import { expect } from 'chai';
import { isLeft } from 'fp-ts/lib/Either.js';
import { environmentProxies } from './environment-proxy.ts';

const PROXY = 'http://proxy:3128';

describe('environmentProxies', () => {
  const proxyFor = (server: string, env: Readonly<Record<string, string>>): string | undefined => {
    const proxies = environmentProxies(env);
    return isLeft(proxies) ? expect.fail(proxies.left) : proxies.right(new URL(server))?.href.replace(/\/$/, '');
  };

  it('reads HTTPS_PROXY for https and HTTP_PROXY for http, in upper case first', () => {
    const env = { HTTPS_PROXY: 'http://a', https_proxy: 'http://b', HTTP_PROXY: '', http_proxy: 'http://c' };
    expect(proxyFor('https://prod', env)).to.equal('http://a');
    expect(proxyFor('http://prod', env)).to.equal('http://c');
    expect(proxyFor('https://prod', { HTTP_PROXY: PROXY, ALL_PROXY: PROXY })).to.equal(undefined);
    expect(proxyFor('https://prod', { HTTPS_PROXY: PROXY, https_proxy: '' })).to.equal(PROXY);
  });

  it('reads a proxy without a scheme as one of http', () => {
    expect(proxyFor('https://prod', { HTTPS_PROXY: 'proxy:3128' })).to.equal(PROXY);
    expect(proxyFor('https://prod', { HTTPS_PROXY: 'ann:secret@proxy' })).to.equal('http://ann:secret@proxy');
  });

  for (const [name, value] of [
    ['HTTPS_PROXY', 'socks5://ann:secret@proxy'],
    ['https_proxy', 'ann:secret'],
    ['HTTP_PROXY', 'http://pro xy'],
  ] as const)
    it(`refuses ${name}=${value} without its value`, () => {
      const left = `the environment variable ${name} is not a URL of http or https, such as http://proxy.example.com:3128`;
      expect(environmentProxies({ [name]: value })).to.deep.include({ _tag: 'Left', left });
    });

  for (const server of ['https://localhost:6443', 'https://127.0.0.1', 'https://127.9.9.9', 'https://[::1]:6443'])
    it(`uses no proxy for ${server}`, () => expect(proxyFor(server, { HTTPS_PROXY: PROXY })).to.equal(undefined));

  // Test cases for the rules of golang.org/x/net/http/httpproxy, most of which the documentation of its field
  // Config.NoProxy lists.
  const rows: readonly (readonly [noProxy: string, server: string, isProxied: boolean])[] = [
    ['', 'https://prod', true],
    ['*', 'https://prod', false],
    [' , *', 'https://prod', false],
    ['example.org', 'https://example.org', false],
    ['example.org', 'https://api.EXAMPLE.org', false],
    ['example.org', 'https://badexample.org', true],
    ['.example.org', 'https://api.example.org', false],
    ['.example.org', 'https://example.org', true],
    ['*.example.org', 'https://api.example.org', false],
    ['*.example.org', 'https://example.org', true],
    ['EXAMPLE.org , other', 'https://example.org', false],
    ['example.org:6443', 'https://example.org:6443', false],
    ['example.org:6443', 'https://example.org', true],
    ['example.org:443', 'https://example.org', false],
    ['example.org:', 'https://example.org', false],
    [':443', 'https://example.org', true],
    ['10.0.0.1', 'https://10.0.0.1', false],
    ['10.0.0.1:6443', 'https://10.0.0.1', true],
    ['10.0.0.1:443', 'https://10.0.0.1', false],
    ['10.0.0.0/8', 'https://10.96.0.1', false],
    ['10.0.0.0/8', 'https://11.0.0.1', true],
    ['10.0.0.0/8', 'https://10.example.org', true],
    ['10.0.0.0/33', 'https://10.96.0.1', true],
    ['fd00::/8', 'https://[fd12::1]:6443', false],
    ['fd00::1', 'https://[fd00::1]:6443', false],
    ['[fd00::1]', 'https://[fd00::1]:6443', true],
    ['[fd00::1]:6443', 'https://[fd00::1]:6443', false],
    ['[fd00::1]:443', 'https://[fd00::1]:6443', true],
    ['.svc,.cluster.local', 'https://kubernetes.default.svc', false],
  ];
  for (const [noProxy, server, isProxied] of rows)
    it(`uses ${isProxied ? 'the' : 'no'} proxy for ${server} with NO_PROXY="${noProxy}"`, () =>
      expect(proxyFor(server, { HTTPS_PROXY: PROXY, NO_PROXY: noProxy })).to.equal(isProxied ? PROXY : undefined));
});
