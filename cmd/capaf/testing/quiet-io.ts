import { systemClock } from 'controller-runtime/env';
import type { Io } from '../io.ts';

/** Returns the process of a command without environment variables and input, whose output is dropped. */
export const quietIo = (changes: Partial<Io> = {}): Io => ({
  clock: systemClock,
  env: {},
  signal: new AbortController().signal,
  out: () => {},
  err: () => {},
  readStdin: async () => '',
  ...changes,
});
