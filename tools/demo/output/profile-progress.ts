import type { RawCondition } from '../../../test/envtest/clients/api.ts';
import { describeConditionChanges } from './condition-changes.ts';
import type { Printer } from './printer.ts';
import type { ProfileUpdate } from '../profile-watcher.ts';
import { CommandTimer } from './command-timer.ts';

/** The widths of the table columns, in characters. */
const SECONDS = 9;
const GAP = 2;
const TYPE = 'EKSFargateProfileReady'.length + GAP;
const STATUS = 'Unknown'.length + GAP;

/** Prints the changes of AWSFargateProfiles, one line per condition, with the seconds since the last command. */
export class ProfileProgress {
  readonly #printer: Printer;
  readonly #since: CommandTimer;

  constructor(printer: Printer) {
    this.#printer = printer;
    this.#since = new CommandTimer(printer);
  }

  /**
   * Runs a command, and restarts the seconds in the output at 0. If AWSFargateProfiles change while the command runs,
   * the demo prints these changes after the command's own output.
   */
  runCommand(command: () => Promise<void>): Promise<void> {
    return this.#since.runCommand(command);
  }

  show(progress: ProfileUpdate): void {
    this.#since.show((seconds) => this.#show(seconds, progress));
  }

  #show(seconds: string, progress: ProfileUpdate): void {
    const name = progress.name.length + GAP;
    if (progress.kind === 'gone') {
      this.#printer.row([seconds, progress.name, 'The object is deleted'], [SECONDS + 1, name], ['dim']);
      return;
    }
    const words = describeConditionChanges(progress.changes);
    for (const [index, condition] of progress.changes.entries()) {
      this.#printer.row(
        [seconds, progress.name, condition.type, condition.status, words[index] ?? ''],
        [SECONDS + 1, name, TYPE, STATUS],
        ['dim', undefined, undefined, styleOf(condition)],
      );
    }
  }
}

function styleOf({ type, status }: RawCondition): 'green' | 'red' | undefined {
  if (type === 'Stalled') return status === 'True' ? 'red' : undefined;
  return type.endsWith('Ready') && status === 'True' ? 'green' : undefined;
}
