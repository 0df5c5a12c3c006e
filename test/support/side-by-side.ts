/** Told once, whoever asks. */
class Story {
  readonly #tell: () => Promise<void>;
  #told: Promise<void> | undefined;

  constructor(tell: () => Promise<void>) {
    this.#tell = tell;
  }

  begin(): Promise<void> {
    this.#told ??= this.#tell();
    return this.#told;
  }

  get hasBegun(): boolean {
    return this.#told !== undefined;
  }
}

/**
 * An `it` for cases that wait for long, and not for each other: all of them begin with the first, so that together they
 * take as long as the longest. Each is a test of its own, with its own result. They share one world: each keeps to
 * objects of its own, looks at nobody else's calls, and turns nothing that the others feel.
 *
 * To be called in the `describe` they are in, before its other `after` hooks.
 */
export function sideBySide(): (title: string, story: () => Promise<void>) => void {
  const stories: Story[] = [];
  const endOf = (story: Story): Promise<void> => story.begin().catch(() => undefined);
  // Whoever runs one of them alone (--grep) has begun them all.
  after(() => Promise.all(stories.filter(({ hasBegun }) => hasBegun).map(endOf)));
  return (title, tell) => {
    const story = new Story(tell);
    stories.push(story);
    it(title, () => {
      // What goes wrong with the others, their own tests say when their turn comes.
      void Promise.all(stories.map(endOf));
      return story.begin();
    });
  };
}
