// Runs commands at the same time: node hack/at-once.ts COMMAND… The output of the last command appears at once, the
// output of each other command when that command ends. When a command fails, the program ends the others, and fails.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';

interface Running {
  readonly command: string;
  readonly child: ChildProcess;
  /** The output so far; empty for the last command. */
  readonly output: readonly Buffer[];
}

// These handlers come first: without them, a signal ends this program, and the commands run on without it. A terminal
// sends SIGINT to the commands too, and this program waits until they have ended.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', endAll);
const running = process.argv.slice(2).map((command, index, all) => start(command, index === all.length - 1));
process.exitCode = Math.max(...(await Promise.all(running.map(finish))));

function start(command: string, isLast: boolean): Running {
  const output: Buffer[] = [];
  const target = isLast ? 'inherit' : 'pipe';
  // With exec, signals reach the command instead of the shell.
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

/** Ends all commands. make passes the signal on to its own commands. */
function endAll(): void {
  for (const { child } of running) child.kill('SIGTERM');
}
