import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';

/** Readable by nobody else: the directory's names can be guessed. */
const SECRET = { mode: 0o600 };

export interface User {
  readonly name: string;
  readonly groups?: readonly string[];
}

export interface Credentials {
  readonly token: string;
  readonly kubeconfigPath: string;
}

export interface Account extends Credentials {
  readonly name: string;
}

/** Gives each user a token: writes kube-apiserver's static token file and a kubeconfig for each. */
export async function writeAccounts(
  directory: string,
  users: readonly User[],
  server: { readonly url: string; readonly caPath: string },
): Promise<{ readonly tokenFile: string; readonly accounts: ReadonlyMap<string, Account> }> {
  const accounts = new Map<string, Account>();
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

/** The key pair with which kube-apiserver signs and checks the tokens of service accounts. */
export async function writeServiceAccountKeys(directory: string): Promise<{ publicPath: string; privatePath: string }> {
  // A hundredth of the work of an RSA key, once for each control plane.
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
