/** Where a server listens. Without a host: on all addresses of the machine, IPv6 and IPv4. */
export interface ListenAddress {
  readonly host?: string;
  /** 0: any free port. */
  readonly port: number;
}

/**
 * Reads an address as the flags of Go programs write it: `:9440`, `127.0.0.1:9440`, `[::1]:9440`, `localhost:9440`.
 * `0` and the empty text mean that nothing is to listen: `undefined`. `flag` names the culprit in the error.
 */
export function parseAddress(flag: string, text: string): ListenAddress | undefined {
  if (text === '0' || text === '') return undefined;
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]/\s]*)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535)
    throw new Error(
      `--${flag}: "${text}" is no address; write ":9440", "127.0.0.1:9440", "[::1]:9440" or "0" for none`,
    );
  const host = match[1] ?? match[2];
  return host === undefined || host === '' ? { port } : { host, port };
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);

/**
 * The same address, reachable from this machine alone. An address without a host moves to 127.0.0.1; one that names
 * another host is refused, because the text asks for what must not be. `instead` says what would allow it.
 */
export function onLoopback(flag: string, address: ListenAddress, instead: string): ListenAddress {
  if (address.host === undefined) return { ...address, host: '127.0.0.1' };
  if (isLoopback(address.host)) return address;
  throw new Error(`--${flag}: ${formatAddress(address)} can be reached from other machines; ${instead}`);
}

export function formatAddress({ host, port }: ListenAddress): string {
  return host?.includes(':') ? `[${host}]:${port}` : `${host ?? ''}:${port}`;
}
