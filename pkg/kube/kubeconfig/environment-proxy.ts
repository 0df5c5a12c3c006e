import { BlockList, isIP } from 'node:net';

type Environment = Readonly<Record<string, string | undefined>>;

/** The proxy that the environment names for the API server. */
export interface EnvironmentProxy {
  /** The name of the environment variable, for messages. */
  readonly variable: string;
  /** The value of the variable; a value without a scheme has got `http://`. */
  readonly url: string;
}

/** Whether an entry of NO_PROXY names this server. */
type Exemption = (server: { readonly host: string; readonly port: string }) => boolean;

/**
 * Returns the proxy that client-go uses for a server whose kubeconfig has no `proxy-url`: the rules of
 * golang.org/x/net/http/httpproxy. HTTPS_PROXY is for servers with https, HTTP_PROXY for the others, and the names in lower
 * case are read when those in upper case are empty. `localhost`, loopback addresses and the entries of NO_PROXY are exempt.
 */
export function environmentProxy(env: Environment, server: URL): EnvironmentProxy | undefined {
  const found = firstSet(env, server.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY');
  if (found === undefined) return undefined;
  const host = server.hostname.toLowerCase().replace(/^\[(.*)\]$/, '$1');
  const port = server.port === '' ? (server.protocol === 'https:' ? '443' : '80') : server.port;
  if (host === 'localhost' || isLoopback(host)) return undefined;
  const { value: noProxy = '' } = firstSet(env, 'NO_PROXY') ?? {};
  if (exemptionsOf(noProxy).some((exempts) => exempts({ host, port }))) return undefined;
  return { variable: found.name, url: hasScheme(found.value) ? found.value : `http://${found.value}` };
}

function firstSet(env: Environment, name: string): { readonly name: string; readonly value: string } | undefined {
  for (const each of [name, name.toLowerCase()]) {
    const value = env[each] ?? '';
    if (value !== '') return { name: each, value };
  }
  return undefined;
}

/** Whether the text begins with a scheme and a host. `proxy:3128` has none: there, `proxy` is the host. */
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
 * Reads an entry of NO_PROXY: `*`, an address range, or an address or domain with an optional port. `example.org` and its
 * subdomains are exempt by `example.org`, only its subdomains by `.example.org` and `*.example.org`.
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

/** Reads an address range such as `10.0.0.0/8`; `undefined` when the entry is none. */
function rangeOf(entry: string): BlockList | undefined {
  const [, address = '', length = ''] = /^(.+)\/(\d{1,3})$/.exec(entry) ?? [];
  const family = isIP(address);
  if (family === 0 || Number(length) > (family === 6 ? 128 : 32)) return undefined;
  const range = new BlockList();
  range.addSubnet(address, Number(length), family === 6 ? 'ipv6' : 'ipv4');
  return range;
}
