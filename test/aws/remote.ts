import type { Admin } from './admin.ts';

type Remote<A> = {
  readonly [Name in keyof A]: A[Name] extends (input: infer Input) => infer Output
    ? (
        ...input: undefined extends Input ? [input?: Input] : unknown extends Input ? [] : [input: Input]
      ) => Promise<Output>
    : never;
};

/** The admin functions of an emulator that is a process of its own. */
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
  // One function per name that is asked for; the types come from the in-process functions.
  return new Proxy({} as RemoteAdmin, {
    get: (_, name) => (typeof name === 'string' && name !== 'then' ? (input: unknown) => call(name, input) : undefined),
  });
}
