import { BlockList, isIP } from 'node:net';
import * as E from 'fp-ts/lib/Either.js';

/** Returns `undefined` if the text is not an absolute http or https URL. */
export const parseHttpUrl = (text: string): URL | undefined => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && /^https?:$/.test(url.protocol) ? url : undefined;
};

type Environment = Readonly<Record<string, string | undefined>>;

/** `undefined` means that the server is reached directly. */
export type ProxyChoice = (server: URL) => URL | undefined;

type Exemption = (server: { readonly host: string; readonly port: string }) => boolean;

/**
 * Reads the proxies from environment variables by the rules of golang.org/x/net/http/httpproxy, which client-go and
 * Go's HTTP client also use: HTTPS_PROXY for servers with https, HTTP_PROXY for the others, each also in lower case;
 * `localhost`, loopback addresses, and the entries of NO_PROXY need no proxy. A Left describes an invalid URL without
 * quoting it, because it may contain a password.
 */
export function environmentProxies(env: Environment): E.Either<string, ProxyChoice> {
  const https = proxyIn(env, 'HTTPS_PROXY');
  if (E.isLeft(https)) return https;
  const http = proxyIn(env, 'HTTP_PROXY');
  if (E.isLeft(http)) return http;
  const exemptions = exemptionsOf(firstSet(env, 'NO_PROXY')?.value ?? '');
  return E.right((server) => {
    const isHttps = server.protocol === 'https:';
    const host = server.hostname.toLowerCase().replace(/^\[(.*)\]$/, '$1');
    const port = server.port === '' ? (isHttps ? '443' : '80') : server.port;
    if (host === 'localhost' || isLoopback(host)) return undefined;
    if (exemptions.some((exempts) => exempts({ host, port }))) return undefined;
    return isHttps ? https.right : http.right;
  });
}

function proxyIn(env: Environment, variable: string): E.Either<string, URL | undefined> {
  const found = firstSet(env, variable);
  if (found === undefined) return E.right(undefined);
  const { name, value } = found;
  const proxy = parseHttpUrl(hasScheme(value) ? value : `http://${value}`);
  return proxy === undefined
    ? E.left(`the environment variable ${name} is not a URL of http or https, such as http://proxy.example.com:3128`)
    : E.right(proxy);
}

function firstSet(env: Environment, name: string): { readonly name: string; readonly value: string } | undefined {
  for (const each of [name, name.toLowerCase()]) {
    const value = env[each] ?? '';
    if (value !== '') return { name: each, value };
  }
  return undefined;
}

/** In `proxy:3128`, the text before the colon is a host, not a scheme. */
const hasScheme = (text: string): boolean => /^[a-z][a-z0-9+.-]*:\/\/[^/]/i.test(text);

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');
const isLoopback = (host: string): boolean => isInList(LOOPBACK, host);

const isInList = (list: BlockList, host: string): boolean =>
  isIP(host) !== 0 && list.check(host, isIP(host) === 6 ? 'ipv6' : 'ipv4');

function exemptionsOf(noProxy: string): readonly Exemption[] {
  return noProxy.split(',').flatMap((text) => exemptionOf(text.trim().toLowerCase()) ?? []);
}

/**
 * An entry of NO_PROXY is `*`, an address range, or an address or domain with an optional port. `example.org` means
 * this host and its subdomains, `.example.org` and `*.example.org` only the subdomains.
 */
function exemptionOf(entry: string): Exemption | undefined {
  if (entry === '*') return () => true;
  const range = rangeOf(entry);
  if (range !== undefined) return ({ host }) => isInList(range, host);
  const [, bracketed, plain, port] = /^(?:\[([^\]]*)\]|([^:]*)):([^:]*)$/.exec(entry) ?? [];
  const name = bracketed ?? plain ?? entry;
  if (name === '') return undefined;
  const hasPort: Exemption = (server) => (port ?? '') === '' || server.port === port;
  if (isIP(name) !== 0) {
    const address = new BlockList();
    address.addAddress(name, isIP(name) === 6 ? 'ipv6' : 'ipv4');
    return (server) => isInList(address, server.host) && hasPort(server);
  }
  const suffix = name.startsWith('*.') ? name.slice(1) : name;
  return (server) =>
    (server.host.endsWith(suffix.startsWith('.') ? suffix : `.${suffix}`) || server.host === suffix) && hasPort(server);
}

/** Parses an address range such as `10.0.0.0/8`. Returns `undefined` if the entry is not one. */
function rangeOf(entry: string): BlockList | undefined {
  const [, address = '', length = ''] = /^(.+)\/(\d{1,3})$/.exec(entry) ?? [];
  const family = isIP(address);
  if (family === 0 || Number(length) > (family === 6 ? 128 : 32)) return undefined;
  const range = new BlockList();
  range.addSubnet(address, Number(length), family === 6 ? 'ipv6' : 'ipv4');
  return range;
}
