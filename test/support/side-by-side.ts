/** A test case that runs at most once. */
class ConcurrentCase {
  readonly #run: () => Promise<void>;
  #result: Promise<void> | undefined;

  constructor(run: () => Promise<void>) {
    this.#run = run;
  }

  /** Starts the test case at the first call. Each later call returns the promise of the first call. */
  result(): Promise<void> {
    this.#result ??= this.#run();
    return this.#result;
  }

  get hasStarted(): boolean {
    return this.#result !== undefined;
  }
}

/**
 * Returns an `it` for independent test cases that spend most of their time waiting. All test cases start when Mocha
 * runs the first one, so together they take as long as the longest one. Each test case is a Mocha test with its own
 * result. The test cases share one API server, manager and AWS emulator. So each test case uses its own objects, checks
 * only its own AWS calls, and changes no settings that affect other test cases.
 *
 * Call `sideBySide` in the `describe` of the test cases, before the other `after` hooks of this `describe`.
 */
export function sideBySide(): (title: string, run: () => Promise<void>) => void {
  const cases: ConcurrentCase[] = [];
  const settled = (each: ConcurrentCase): Promise<void> => each.result().catch(() => undefined);
  // With Mocha's option --grep, the selected test case has also started the test cases that are not selected. This hook
  // waits for all of them.
  after(() => Promise.all(cases.filter(({ hasStarted }) => hasStarted).map(settled)));
  return (title, run) => {
    const own = new ConcurrentCase(run);
    cases.push(own);
    it(title, () => {
      // Starts all test cases. Failures are ignored at this point, because each test case reports its failure in its
      // own Mocha test.
      void Promise.all(cases.map(settled));
      return own.result();
    });
  };
}
