import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';

/** The mode of files that have secrets: only the user who runs the tests can read them. */
const SECRET = { mode: 0o600 };

export interface User {
  readonly name: string;
  readonly groups?: readonly string[];
}

export interface UserCredentials {
  readonly token: string;
  readonly kubeconfigPath: string;
}

export interface UserAccount extends UserCredentials {
  readonly name: string;
}

/**
 * Creates a token for each user. Writes the tokens to a static token file for kube-apiserver, and writes a kubeconfig
 * for each user.
 */
export async function writeAccounts(
  directory: string,
  users: readonly User[],
  server: { readonly url: string; readonly caPath: string },
): Promise<{ readonly tokenFile: string; readonly accounts: ReadonlyMap<string, UserAccount> }> {
  const accounts = new Map<string, UserAccount>();
  const lines: string[] = [];
  for (const { name, groups = [] } of users) {
    const token = randomBytes(24).toString('hex');
    const kubeconfigPath = join(directory, `${name.replaceAll(/[^\w.-]/g, '_')}.kubeconfig`);
    await writeFile(kubeconfigPath, kubeconfig(server, name, token), SECRET);
    accounts.set(name, { name, token, kubeconfigPath });
    lines.push(`${token},${name},${name},"${groups.join(',')}"\n`);
  }
  const tokenFile = join(directory, 'tokens.csv');
  await writeFile(tokenFile, lines.join(''), SECRET);
  return { tokenFile, accounts };
}

/** Writes the key pair with which kube-apiserver signs and verifies service account tokens. */
export async function writeServiceAccountKeys(directory: string): Promise<{ publicPath: string; privatePath: string }> {
  // Every start of a control plane generates a key pair. An EC key pair takes a hundredth of the time of an RSA key
  // pair.
  const keys = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const publicPath = join(directory, 'service-account.pub');
  const privatePath = join(directory, 'service-account.key');
  await writeFile(publicPath, keys.publicKey);
  await writeFile(privatePath, keys.privateKey, SECRET);
  return { publicPath, privatePath };
}

function kubeconfig(server: { readonly url: string; readonly caPath: string }, user: string, token: string): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'envtest', cluster: { server: server.url, 'certificate-authority': server.caPath } }],
    users: [{ name: user, user: { token } }],
    contexts: [{ name: 'envtest', context: { cluster: 'envtest', user } }],
    'current-context': 'envtest',
  });
}
