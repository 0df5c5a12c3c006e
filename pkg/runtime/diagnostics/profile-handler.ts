import { sleep } from '../../async/deadline.ts';
import type { Clock } from '../../env/clock.ts';
import type { Profiler } from '../../env/profiler.ts';
import type { HttpHandler } from '../http/http-server.ts';

/** How long a profile takes by default, in seconds, as in Go's net/http/pprof. */
const DEFAULT_SECONDS = 30;
/**
 * How long a profile may take, in seconds. A CPU profile has up to a thousand samples per second, so a longer one would
 * be too large.
 */
const MAX_SECONDS = 60;

/** Serves CPU and heap profiles of this process. Only one profile is taken at a time. */
export class ProfileHandlers {
  private readonly profiler: Profiler;
  private readonly clock: Clock;
  private isBusy = false;

  constructor(profiler: Profiler, clock: Clock) {
    this.profiler = profiler;
    this.clock = clock;
  }

  /**
   * Returns the handler for one kind of profile. The query parameter `seconds` is the duration of the profile: by
   * default 30, at most 60.
   */
  handler(kind: keyof Profiler, fileName: string): HttpHandler {
    return async ({ query, signal }) => {
      const text = query.get('seconds') ?? String(DEFAULT_SECONDS);
      const seconds = Number(text);
      if (!/^\d{1,2}$/.test(text) || seconds < 1 || seconds > MAX_SECONDS)
        return { status: 400, body: `seconds must be a whole number from 1 to ${MAX_SECONDS}\n` };
      if (this.isBusy) return { status: 409, body: 'another profile is being taken\n' };
      this.isBusy = true;
      try {
        const body = await this.profiler[kind](() => sleep(this.clock, seconds * 1_000, signal));
        const headers = { 'content-disposition': `attachment; filename="${fileName}"` };
        return { status: 200, contentType: 'application/json', headers, body };
      } catch (error) {
        // The client has closed the connection, so no client reads the response.
        if (signal.aborted) return { status: 503, body: 'cancelled\n' };
        throw error;
      } finally {
        this.isBusy = false;
      }
    };
  }
}
