import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { ControlPlane } from '../envtest/control-plane/controlplane.ts';
import { runProgram } from '../support/run-program.ts';

export interface TerminalOptions {
  /** The paths of the programs besides kubectl that the documentation page uses, by their command names. */
  readonly programs?: Readonly<Record<string, string>>;
  /** The directory in which the commands run; default: an empty directory. */
  readonly directory?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Runs the commands of a documentation page in bash, like the terminal of a reader. The commands have a home directory
 * of their own, with a kubeconfig for the control plane of the test.
 */
export interface Terminal {
  readonly home: string;
  readonly directory: string;
  readonly env: NodeJS.ProcessEnv;
  /**
   * Runs all commands of a code block, and returns what they print to stdout.
   * @throws if a command fails; the error message has the output
   */
  run(block: string): Promise<string>;
  /**
   * Starts the commands of a code block, the last of which runs until it gets a signal. Returns a function that ends
   * all their processes.
   */
  start(block: string): () => Promise<void>;
  /**
   * Writes a file that the documentation page tells its readers to create. The path is relative to the home directory.
   */
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
      // The test binaries come from the cache of the user who runs the tests, so that the commands need not prepare
      // them again.
      XDG_CACHE_HOME: process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'),
      KUBECONFIG: join(home, '.kube/config'),
      KUBERC: 'off',
      KUBECACHEDIR: join(home, '.kube/cache'),
      CLUSTERCTL_DISABLE_VERSIONCHECK: 'true',
      // `make` passes its own options to its commands in MAKEFLAGS and MAKELEVEL. The options of `make test` must not
      // reach a `make` in a code block.
      MAKEFLAGS: '',
      MAKELEVEL: '',
      // With GOPROXY=off, clusterctl does not look for releases in the Go module proxy.
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
      });
      if (code !== 0) throw new Error(`exit code ${code} of\n${block}\n${stdout}${stderr}`);
      return stdout;
    },
    start: (block) => {
      // The started processes form a process group, so that one signal reaches all of them, like Ctrl-C in a terminal.
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
