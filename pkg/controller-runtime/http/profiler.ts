import type { Session } from 'node:inspector/promises';

/**
 * Takes profiles of this process. Each method samples until the promise of `wait` settles, and rejects if that promise
 * rejects.
 */
export interface Profiler {
  /** Samples which functions run, as JSON in V8's format `.cpuprofile`. */
  cpu(wait: () => Promise<void>): Promise<string>;
  /** Samples which functions allocate memory that stays in use, as JSON in V8's `.heapprofile`, without heap values. */
  heap(wait: () => Promise<void>): Promise<string>;
}

/** V8's default for the average number of allocated bytes per sample. */
const HEAP_SAMPLING_BYTES = 32_768;

/** node:inspector is loaded at the first profile, because the module takes memory. */
export const systemProfiler: Profiler = {
  cpu: (wait) =>
    withSession(async (session) => {
      await session.post('Profiler.enable');
      await session.post('Profiler.start');
      await wait();
      return (await session.post('Profiler.stop')).profile;
    }),
  heap: (wait) =>
    withSession(async (session) => {
      await session.post('HeapProfiler.startSampling', { samplingInterval: HEAP_SAMPLING_BYTES });
      await wait();
      return (await session.post('HeapProfiler.stopSampling')).profile;
    }),
};

async function withSession(work: (session: Session) => Promise<unknown>): Promise<string> {
  const inspector = await import('node:inspector/promises');
  const session = new inspector.Session();
  session.connect();
  try {
    return JSON.stringify(await work(session));
  } finally {
    // This also ends a profile that is still being taken.
    session.disconnect();
  }
}
