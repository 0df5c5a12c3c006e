import type { Clock } from '../../env/clock.ts';
import type { Profiler } from '../../env/profiler.ts';
import type { HttpHandler } from '../http/http-server.ts';
import { methodNotAllowed, notFound } from '../http/http-server.ts';
import { logLevelHandler } from './log-level-handler.ts';
import { ProfileHandlers } from './profile-handler.ts';

export interface DiagnosticsOptions {
  readonly metrics: HttpHandler;
  readonly setVerbosity: (verbosity: number) => void;
  readonly profiler: Profiler;
  readonly clock: Clock;
}

/** The HTTP methods of {@link diagnosticsHandler}. */
export const DIAGNOSTICS_METHODS = ['GET', 'HEAD', 'PUT'];

const READ = ['GET', 'HEAD'];

/**
 * Serves the paths of Cluster API's managers: `/metrics`, `/debug/flags/v` and `/debug/pprof/…`. The profiles are in
 * V8's formats, which Chrome DevTools, Visual Studio Code and speedscope read, not in the format of Go.
 */
export function diagnosticsHandler({ metrics, setVerbosity, profiler, clock }: DiagnosticsOptions): HttpHandler {
  const profiles = new ProfileHandlers(profiler, clock);
  const routes = new Map<string, { readonly methods: readonly string[]; readonly handle: HttpHandler }>([
    ['/metrics', { methods: READ, handle: metrics }],
    ['/debug/flags/v', { methods: ['PUT'], handle: logLevelHandler(setVerbosity) }],
    ['/debug/pprof/profile', { methods: READ, handle: profiles.handler('cpu', 'manager.cpuprofile') }],
    ['/debug/pprof/heap', { methods: READ, handle: profiles.handler('heap', 'manager.heapprofile') }],
  ]);
  return (request) => {
    const route = routes.get(request.path);
    if (route === undefined) return notFound;
    return route.methods.includes(request.method) ? route.handle(request) : methodNotAllowed(route.methods);
  };
}
