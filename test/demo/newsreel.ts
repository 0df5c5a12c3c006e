import type { Condition } from '../envtest/api.ts';
import { wordsOf } from './changes.ts';
import type { Page } from './page.ts';
import type { News } from './profiles.ts';
import { SinceCommand } from './since-command.ts';

/** Column widths: seconds, name and so on up to the words. */
const SECONDS = 9;
const GAP = 2;
const TYPE = 'EKSFargateProfileReady'.length + GAP;
const STATUS = 'Unknown'.length + GAP;

/** Shows what becomes of the profiles: a line for each condition that changed, with the seconds since the last command. */
export class Newsreel {
  readonly #page: Page;
  readonly #since: SinceCommand;

  constructor(page: Page) {
    this.#page = page;
    this.#since = new SinceCommand(page);
  }

  /** Runs a command, from whose start seconds are counted. What it sets off is shown after what it prints. */
  during(command: () => Promise<void>): Promise<void> {
    return this.#since.during(command);
  }

  show(news: News): void {
    this.#since.show((seconds) => this.#show(seconds, news));
  }

  #show(seconds: string, news: News): void {
    const name = news.name.length + GAP;
    if (news.kind === 'gone') {
      this.#page.row([seconds, news.name, 'The object is gone'], [SECONDS + 1, name], ['dim']);
      return;
    }
    const words = wordsOf(news.changes);
    for (const [index, condition] of news.changes.entries()) {
      this.#page.row(
        [seconds, news.name, condition.type, condition.status, words[index] ?? ''],
        [SECONDS + 1, name, TYPE, STATUS],
        ['dim', undefined, undefined, styleOf(condition)],
      );
    }
  }
}

function styleOf({ type, status }: Condition): 'green' | 'red' | undefined {
  if (type === 'Stalled') return status === 'True' ? 'red' : undefined;
  return type.endsWith('Ready') && status === 'True' ? 'green' : undefined;
}
