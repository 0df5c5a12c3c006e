// Runs commands at the same time. Usage: node hack/at-once.ts COMMAND… The output of the last command appears
// immediately. The output of each other command appears when that command has ended. When a command fails, the program
// ends the other commands, and fails.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';

// The signal handlers are set before the first command starts. Without them, a signal would end only this program, and
// the commands would run on. A terminal sends SIGINT to the commands too, so this program only waits until they have
// ended.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', endAll);
const commands = process.argv.slice(2);
const children = commands.map((command, index) => {
  // `exec` replaces the shell by the command, so that signals reach the command.
  const stdio = ['ignore', index === commands.length - 1 ? 'inherit' : 'pipe', 'inherit'] as const;
  return spawn('/bin/bash', ['-c', `${stdio[1] === 'pipe' ? 'exec 2>&1; ' : ''}exec ${command}`], {
    stdio: [...stdio],
  });
});
process.exitCode = Math.max(...(await Promise.all(children.map(finish))));

/** Waits until a command ends, and prints its output. Returns the exit code. */
async function finish(child: ChildProcess, index: number): Promise<number> {
  const [output] = await Promise.all([child.stdout?.toArray(), once(child, 'close')]);
  for (const part of output ?? []) process.stdout.write(Buffer.from(part));
  if (child.exitCode === 0) return 0;
  console.error(`failed with ${child.exitCode ?? child.signalCode}: ${commands[index]}`);
  endAll();
  return child.exitCode ?? 1;
}

/** Sends SIGTERM to all commands. A command `make` passes the signal on to the commands that it runs. */
function endAll(): void {
  for (const child of children) child.kill('SIGTERM');
}
