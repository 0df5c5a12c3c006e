import type { Admin } from './admin.ts';

type Remote<A> = {
  readonly [Name in keyof A]: A[Name] extends (input: infer Input) => infer Output
    ? (
        ...input: undefined extends Input ? [input?: Input] : unknown extends Input ? [] : [input: Input]
      ) => Promise<Output>
    : never;
};

/** The functions with which a test changes and reads an AWS emulator that runs in another process. */
export type RemoteAdmin = Remote<Admin>;

export function remoteAdmin(url: string): RemoteAdmin {
  const call = async (name: string, input: unknown): Promise<unknown> => {
    const response = await fetch(new URL(`/_emulator/${name}`, url), {
      method: 'POST',
      body: JSON.stringify(input ?? {}),
    });
    const value: unknown = await response.json();
    if (!response.ok) throw new Error(`emulator refused ${name}: ${JSON.stringify(value)}`);
    return value;
  };
  // The Proxy object turns a call of any function name into an HTTP request to the AWS emulator. The TypeScript type
  // RemoteAdmin allows only the names of the emulator's admin functions.
  return new Proxy({} as RemoteAdmin, {
    get: (_, name) => (typeof name === 'string' && name !== 'then' ? (input: unknown) => call(name, input) : undefined),
  });
}
