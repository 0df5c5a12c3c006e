import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { ControlPlane } from '../envtest/control-plane/controlplane.ts';
import { runProgram } from '../support/run-program.ts';

const TIMEOUT_MS = 120_000;

export interface TerminalOptions {
  /** Programs besides kubectl, by the name that a page uses: the paths of their files. */
  readonly programs?: Readonly<Record<string, string>>;
  /** The current directory of the commands; default: an empty directory. */
  readonly directory?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Runs the command blocks of a page as a reader does in bash: with the kubeconfig of a control plane in a home
 * directory of its own.
 */
export interface Terminal {
  readonly home: string;
  readonly directory: string;
  readonly env: NodeJS.ProcessEnv;
  /**
   * Runs all commands of a block, and returns what they print to stdout.
   * @throws if a command fails, with the output
   */
  run(block: string): Promise<string>;
  /** Starts a block whose last command runs until it gets a signal. Returns a function that ends all its processes. */
  start(block: string): () => Promise<void>;
  /** Writes a file of the page. The path is relative to the home directory. */
  write(path: string, content: string): void;
  close(): void;
}

export async function openTerminal(
  controlPlane: ControlPlane,
  { programs = {}, directory, env = {} }: TerminalOptions = {},
): Promise<Terminal> {
  const home = mkdtempSync(join(tmpdir(), 'capaf-docs-'));
  const within = (path: string): string => {
    const file = join(home, path);
    mkdirSync(dirname(file), { recursive: true });
    return file;
  };
  for (const [name, file] of Object.entries({ kubectl: controlPlane.kubectlPath, ...programs }))
    symlinkSync(file, within(`bin/${name}`));
  await copyFile(controlPlane.kubeconfigPath, within('.kube/config'));
  mkdirSync(join(home, 'work'));
  const terminal = {
    home,
    directory: directory ?? join(home, 'work'),
    env: {
      ...process.env,
      PATH: `${join(home, 'bin')}:${process.env['PATH']}`,
      HOME: home,
      XDG_CONFIG_HOME: join(home, '.config'),
      // The cache of the test binaries stays that of the user who runs the tests.
      XDG_CACHE_HOME: process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'),
      KUBECONFIG: join(home, '.kube/config'),
      KUBERC: 'off',
      KUBECACHEDIR: join(home, '.kube/cache'),
      CLUSTERCTL_DISABLE_VERSIONCHECK: 'true',
      // The variables of the make that runs the tests are not those of a reader.
      MAKEFLAGS: '',
      MAKELEVEL: '',
      // clusterctl must not look for releases elsewhere than in its configuration.
      GOPROXY: 'off',
      ...env,
    },
  };
  return {
    ...terminal,
    run: async (block) => {
      const { code, stdout, stderr } = await runProgram('bash', ['-euo', 'pipefail', '-c', block], {
        name: 'bash',
        env: terminal.env,
        directory: terminal.directory,
        timeoutMs: TIMEOUT_MS,
      });
      if (code !== 0) throw new Error(`exit code ${code} of\n${block}\n${stdout}${stderr}`);
      return stdout;
    },
    start: (block) => {
      // The processes of a group of their own get a signal together, as those of a terminal do on Ctrl-C.
      const options = { env: terminal.env, cwd: terminal.directory, detached: true, stdio: 'ignore' } as const;
      const child = spawn('bash', ['-euo', 'pipefail', '-c', block], options);
      const exited = once(child, 'exit');
      return async () => {
        if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGTERM');
        await exited;
      };
    },
    write: (path, content) => writeFileSync(within(path), content),
    close: () => rmSync(home, { recursive: true, force: true }),
  };
}
