import { readFileSync } from 'node:fs';
import type { KubeConfig, User } from '@kubernetes/client-node';
import { fieldAt, textAt } from '../../../api/record.ts';

/** The name of the client-node auth provider that kubeconfig.ts sets for a user with a `tokenFile`. */
export const TOKEN_FILE_PROVIDER = 'token-file';

/** The type of client-node's authenticators, which client-node does not export. */
type Authenticator = Parameters<KubeConfig['addAuthenticator']>[0];

/**
 * Reads a bearer token from a file that is rotated, e.g. by the kubelet for a service account. Replaces client-node's
 * authenticator for token files. That authenticator fails while the file is missing, and sends requests as
 * `system:anonymous` for a minute after it has read an empty file.
 *
 * Like client-go (transport/token_source.go), TokenFile uses the last token while the file is empty or missing. After
 * the API server has refused a token, CredentialSource makes a new TokenFile, which does not have that last token.
 */
export class TokenFile implements Authenticator {
  private lastToken: string | undefined;

  isAuthProvider(user: User): boolean {
    const provider: unknown = user.authProvider;
    return fieldAt(provider, 'name') === TOKEN_FILE_PROVIDER;
  }

  /**
   * Reads the token file at each call. Throws when the file has no token, no earlier call has found one, and the
   * kubeconfig user has no field `token`.
   */
  async applyAuthentication(user: User, options: Parameters<Authenticator['applyAuthentication']>[1]): Promise<void> {
    const provider: unknown = user.authProvider;
    const config = fieldAt(provider, 'config');
    try {
      this.lastToken = tokenIn(textAt(config, 'path') ?? '');
    } catch (error) {
      this.lastToken ??= textAt(config, 'token');
      if (this.lastToken === undefined) throw error;
    }
    Object.assign((options.headers ??= {}), { Authorization: `Bearer ${this.lastToken}` });
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
