// Runs commands at the same time. Usage: node hack/at-once.ts COMMAND… The output of the last command appears
// immediately. The output of each other command appears when that command has ended. When a command fails, the program
// ends the other commands, and fails.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';

interface Running {
  readonly command: string;
  readonly child: ChildProcess;
  /**
   * The output that the command has written so far. It stays empty for the last command, which writes directly to the
   * terminal.
   */
  readonly output: readonly Buffer[];
}

// The signal handlers are set before the first command starts. Without them, a signal would end only this program, and
// the commands would run on. A terminal sends SIGINT to the commands too, so this program only waits until they have
// ended.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', endAll);
const running = process.argv.slice(2).map((command, index, all) => start(command, index === all.length - 1));
process.exitCode = Math.max(...(await Promise.all(running.map(finish))));

function start(command: string, isLast: boolean): Running {
  const output: Buffer[] = [];
  const target = isLast ? 'inherit' : 'pipe';
  // `exec` replaces the shell by the command, so that signals reach the command.
  const child = spawn('/bin/bash', ['-c', `exec ${command}`], { stdio: ['ignore', target, target] });
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (part: Buffer) => output.push(part));
  return { command, child, output };
}

/** Waits until a command ends, and prints its output. Returns the exit code. */
async function finish({ command, child, output }: Running): Promise<number> {
  await once(child, 'close');
  const code = child.exitCode;
  process.stdout.write(Buffer.concat(output));
  if (code === 0) return 0;
  console.error(`failed with ${code ?? child.signalCode}: ${command}`);
  endAll();
  return code ?? 1;
}

/** Sends SIGTERM to all commands. A command `make` passes the signal on to the commands that it runs. */
function endAll(): void {
  for (const { child } of running) child.kill('SIGTERM');
}
