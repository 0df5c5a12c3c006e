import { readFileSync } from 'node:fs';
import type { KubeConfig, User } from '@kubernetes/client-node';
import { fieldAt, textAt } from '../../api/record.ts';

/** The name under which kubeconfig.ts hands token files over. */
export const TOKEN_FILE_PROVIDER = 'token-file';

/** What KubeConfig takes; the package does not export the name. */
type Authenticator = Parameters<KubeConfig['addAuthenticator']>[0];

/**
 * A bearer token from a file that somebody rotates, such as the kubelet for a service account. In place of client-node's
 * own, which takes an empty file for a minute of requests as `system:anonymous`, and fails where the file is away for a
 * moment.
 *
 * As client-go (transport/token_source.go) it goes on with the token that it read last while the file has none. One that
 * the server has refused is forgotten with the authenticator: then the file's error is what there is to tell.
 */
export class TokenFile implements Authenticator {
  private last: string | undefined;

  isAuthProvider(user: User): boolean {
    const provider: unknown = user.authProvider;
    return fieldAt(provider, 'name') === TOKEN_FILE_PROVIDER;
  }

  /** Reads the file at each call: how often that is, is the caller's to say. Throws where there was never a token. */
  async applyAuthentication(user: User, options: Parameters<Authenticator['applyAuthentication']>[1]): Promise<void> {
    const provider: unknown = user.authProvider;
    const config = fieldAt(provider, 'config');
    try {
      this.last = tokenIn(textAt(config, 'path') ?? '');
    } catch (error) {
      this.last ??= textAt(config, 'token');
      if (this.last === undefined) throw error;
    }
    Object.assign((options.headers ??= {}), { Authorization: `Bearer ${this.last}` });
  }
}

function tokenIn(path: string): string {
  const token = read(path).trim();
  if (token === '') throw new Error(`token file ${path}: empty`);
  return token;
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
    throw new Error(`token file ${path}: cannot be read: ${code}`, { cause });
  }
}
