import type { Session } from 'node:inspector/promises';
import { sleep } from '../async/deadline.ts';
import type { Clock } from '../env/clock.ts';
import { methodNotAllowed, notFound, type HttpHandler } from './http-server.ts';

export interface DiagnosticsOptions {
  readonly metrics: HttpHandler;
  readonly setVerbosity: (verbosity: number) => void;
  readonly profiler: Profiler;
  readonly clock: Clock;
}

export const DIAGNOSTICS_METHODS = ['GET', 'HEAD', 'PUT'];

const READ = ['GET', 'HEAD'];

/** The longest body of a request that sets the log verbosity, in bytes. */
const MAX_BODY = 16;
/** As in Go's net/http/pprof. */
const DEFAULT_SECONDS = 30;
/** A CPU profile takes up to a thousand samples per second, so a longer one would be too large. */
const MAX_SECONDS = 60;

/**
 * Serves the paths of Cluster API's managers: `/metrics`, `/debug/flags/v`, and `/debug/pprof/…`. The profiles are in
 * V8's formats, not Go's. Chrome DevTools, Visual Studio Code, and speedscope read them.
 */
export function diagnosticsHandler({ metrics, setVerbosity, profiler, clock }: DiagnosticsOptions): HttpHandler {
  const profileHandler = newProfileHandlers(profiler, clock);
  const routes = new Map<string, { readonly methods: readonly string[]; readonly handle: HttpHandler }>([
    ['/metrics', { methods: READ, handle: metrics }],
    ['/debug/flags/v', { methods: ['PUT'], handle: logLevelHandler(setVerbosity) }],
    ['/debug/pprof/profile', { methods: READ, handle: profileHandler('cpu', 'manager.cpuprofile') }],
    ['/debug/pprof/heap', { methods: READ, handle: profileHandler('heap', 'manager.heapprofile') }],
  ]);
  return (request) => {
    const route = routes.get(request.path);
    if (route === undefined) return notFound;
    return route.methods.includes(request.method) ? route.handle(request) : methodNotAllowed(route.methods);
  };
}

/** Sets the log verbosity to the number in the request body, which `curl -X PUT -d 4 …` sends. */
function logLevelHandler(setVerbosity: (verbosity: number) => void): HttpHandler {
  return async ({ readBody }) => {
    const text = (await readBody(MAX_BODY))?.trim() ?? '';
    if (!/^\d{1,4}$/.test(text))
      return { status: 400, body: 'failed set klog.logging.verbosity: the body must be a whole number, such as 4\n' };
    setVerbosity(Number(text));
    return { status: 200, body: `successfully set klog.logging.verbosity to ${text}\n` };
  };
}

/** Only one CPU or heap profile is taken at a time. */
function newProfileHandlers(profiler: Profiler, clock: Clock): (kind: keyof Profiler, fileName: string) => HttpHandler {
  let isBusy = false;
  // The query parameter `seconds` is the duration of the profile.
  return (kind, fileName) =>
    async ({ query, signal }) => {
      const text = query.get('seconds') ?? String(DEFAULT_SECONDS);
      const seconds = Number(text);
      if (!/^\d{1,2}$/.test(text) || seconds < 1 || seconds > MAX_SECONDS)
        return { status: 400, body: `seconds must be a whole number from 1 to ${MAX_SECONDS}\n` };
      if (isBusy) return { status: 409, body: 'another profile is being taken\n' };
      isBusy = true;
      try {
        const body = await profiler[kind](() => sleep(clock, seconds * 1_000, signal));
        const headers = { 'content-disposition': `attachment; filename="${fileName}"` };
        return { status: 200, contentType: 'application/json', headers, body };
      } catch (error) {
        // The client has closed the connection.
        if (signal.aborted) return { status: 503, body: 'cancelled\n' };
        throw error;
      } finally {
        isBusy = false;
      }
    };
}

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
