/** What AWS or an API server says, without the final period. Without `by`, the text is an error that no server sent. */
export interface Quote {
  readonly by?: 'AWS' | 'EKS' | 'The API server' | 'The AWS SDK' | undefined;
  readonly said: string;
}

/** The parts of a message for users. Each part is one or more sentences, without the final period. */
export interface MessageParts {
  /** What is wrong with which object. */
  readonly problem: string;
  /** What the user can do. */
  readonly remedy?: string | undefined;
  /** What the controller does without the user. */
  readonly outlook?: string | undefined;
  /** Comes last, because it can be long and technical. */
  readonly quote?: Quote | undefined;
}

export const RETRIES = 'The controller keeps retrying';

/** Joins the parts in the order of all messages. A message of one part has no period. */
export function joinParts({ problem, remedy, outlook, quote }: MessageParts): string {
  return joinSentences([problem, remedy, outlook, quote && `${introductionOf(quote)}: ${quote.said}`]);
}

/** Joins texts that may end with a period. A single text is returned unchanged. */
export function joinSentences(texts: readonly (string | undefined)[]): string {
  const given = texts.filter((text) => text !== undefined);
  return given.length > 1 ? `${given.map((text) => text.replace(/\.$/, '')).join('. ')}.` : given.join('');
}

const introductionOf = ({ by }: Quote): string => (by === undefined ? 'Error' : `${by} says`);
