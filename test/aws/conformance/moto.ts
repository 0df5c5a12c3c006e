import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const requirements = join(import.meta.dirname, 'requirements.txt');

/** The error when the server of moto, an AWS mock, cannot be installed or started on this machine. */
export class MotoUnavailable extends Error {}

export interface Moto {
  readonly url: string;
  readonly close: () => Promise<void>;
}

/**
 * Returns the path of Python in a virtual environment that contains moto, an AWS mock server. The first call installs
 * moto, with verified hashes, into the user's cache folder.
 * @throws {MotoUnavailable} when python3 or the packages are unavailable
 */
export async function installMoto(tell: (message: string) => void): Promise<string> {
  const pinned = await readFile(requirements, 'utf8');
  const version = /^moto==(\S+)/m.exec(pinned)?.[1] ?? 'unknown';
  const digest = createHash('sha256').update(pinned).digest('hex').slice(0, 8);
  const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
  const home = join(cache, 'cluster-api-provider-aws-fargate', `moto-${version}-${digest}`);
  const python = (folder: string): string => join(folder, 'bin', 'python');
  if (existsSync(python(home))) return python(home);

  tell(`Installing moto ${version} into ${home}, once; about a quarter of a minute`);
  // pip installs moto into a temporary folder, which is then renamed, so that a broken installation is never used.
  const making = `${home}.${process.pid}`;
  try {
    await mkdir(dirname(home), { recursive: true });
    await run('python3', ['-m', 'venv', making]);
    await run(python(making), ['-m', 'pip', 'install', '--quiet', '--require-hashes', '--requirement', requirements]);
    await rename(making, home).catch((error: unknown) => {
      if (!existsSync(python(home))) throw error;
    });
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error);
    throw new MotoUnavailable(`installing moto ${version}: ${words}`, { cause: error });
  } finally {
    await rm(making, { recursive: true, force: true });
  }
  return python(home);
}

// A Python program that runs moto's server on a free port. The server ends when its standard input closes, so that the
// server never outlives the tests.
const program = `
import os, sys, threading
def watch():
    sys.stdin.read()
    os._exit(0)
threading.Thread(target=watch, daemon=True).start()
from moto.server import main
main(["-H", "127.0.0.1", "-p", "0"])
`;

export async function moto(python: string): Promise<Moto> {
  const child = spawn(python, ['-c', program], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, MOTO_IAM_LOAD_MANAGED_POLICIES: 'true', PYTHONUNBUFFERED: '1' },
  });
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
  });
  const url = await new Promise<string>((resolve, reject) => {
    let said = '';
    const listen = (chunk: Buffer): void => {
      said += chunk.toString();
      const address = /Running on (http:\/\/127\.0\.0\.1:\d+)/.exec(said)?.[1];
      if (address !== undefined) resolve(address);
    };
    child.stdout.on('data', listen);
    child.stderr.on('data', listen);
    child.once('error', reject);
    child.once('exit', (code) => reject(new MotoUnavailable(`moto's server ended with code ${code}: ${said}`)));
  });
  return {
    url,
    close: async () => {
      child.stdin.end();
      await exited;
    },
  };
}
