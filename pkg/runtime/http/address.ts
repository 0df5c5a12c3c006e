/** An address on which a server listens. An address without a host means all IPv6 and IPv4 addresses of the machine. */
export interface ListenAddress {
  readonly host?: string;
  /** The TCP port; 0 selects any free port. */
  readonly port: number;
}

/**
 * Parses an address in the format of Go programs: `:9440`, `127.0.0.1:9440`, `[::1]:9440`. `undefined` for `0` and the
 * empty string, which switch the server off. Throws an error that names the flag.
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

export function formatAddress({ host, port }: ListenAddress): string {
  return host?.includes(':') ? `[${host}]:${port}` : `${host ?? ''}:${port}`;
}
