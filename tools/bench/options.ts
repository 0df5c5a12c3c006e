/** The parts of the benchmark, in the order in which they run. */
const PARTS = ['burst', 'rest', 'large', 'fair', 'sizes', 'lives'] as const;
export type PartName = (typeof PARTS)[number];

export interface BenchOptions {
  readonly parts: readonly PartName[];
  /** How often the benchmark runs each part. The tables show the medians of these runs. */
  readonly runs: number;
  /**
   * The factor by which the benchmark multiplies its numbers of objects. Measurements use 1; a lower value is only for
   * a quick trial of the benchmark.
   */
  readonly scale: number;
  /** The path of the manager program; undefined: the program that `make build` builds. */
  readonly managerFile?: string;
  readonly nodeOptions: string;
  /** Flags for the manager that the user of the benchmark appends to the manager's command line. */
  readonly flags: readonly string[];
}

export const usage = `make bench measures time, AWS calls, processor time and memory of the manager. Environment:

  BENCH=part,…            only these parts: ${PARTS.join(', ')} (default: all but lives)
  BENCH_RUNS=n            runs of each part; the tables show medians (default 1)
  BENCH_SCALE=0.1         only this part of the objects, to try the benchmark itself
  BENCH_MANAGER=file      another build of the manager
  BENCH_NODE_OPTIONS=…    NODE_OPTIONS of the manager, e.g. --cpu-prof for a processor profile
  BENCH_FLAGS=…           more flags for the manager
`;

/**
 * Reads the options from environment variables such as BENCH and BENCH_RUNS.
 * @throws if a variable has an invalid value; the error message contains the usage
 */
export function readOptions(env: Readonly<Record<string, string | undefined>>): BenchOptions {
  const { BENCH = '', BENCH_RUNS = '1', BENCH_SCALE = '1', BENCH_NODE_OPTIONS = '', BENCH_FLAGS = '' } = env;
  const { BENCH_MANAGER = '' } = env;
  const names = wordsOf(BENCH);
  const options: BenchOptions = {
    parts: PARTS.filter((name) => (names.length === 0 ? name !== 'lives' : names.includes(name))),
    runs: Number(BENCH_RUNS),
    scale: Number(BENCH_SCALE),
    nodeOptions: BENCH_NODE_OPTIONS,
    flags: BENCH_FLAGS.split(' ').filter((flag) => flag !== ''),
    ...(BENCH_MANAGER !== '' && { managerFile: BENCH_MANAGER }),
  };
  const isKnown = names.every((name) => PARTS.some((part) => part === name));
  if (!isKnown || !Number.isInteger(options.runs) || options.runs < 1) throw new Error(usage);
  if (!(options.scale > 0 && options.scale <= 1)) throw new Error(usage);
  return options;
}

const wordsOf = (text: string): readonly string[] =>
  text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
