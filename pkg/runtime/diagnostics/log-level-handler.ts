import type { HttpHandler } from '../http/http-server.ts';

/** The maximum length, in bytes, of the body of a request that sets the log verbosity. */
const MAX_BODY = 16;

/** Sets the verbosity of the log, as `/debug/flags/v` of Cluster API's managers does: `curl -X PUT -d 4 …`. */
export function logLevelHandler(setVerbosity: (verbosity: number) => void): HttpHandler {
  return async ({ readBody }) => {
    const text = (await readBody(MAX_BODY))?.trim() ?? '';
    if (!/^\d{1,4}$/.test(text))
      return { status: 400, body: 'failed set klog.logging.verbosity: the body must be a whole number, such as 4\n' };
    setVerbosity(Number(text));
    return { status: 200, body: `successfully set klog.logging.verbosity to ${text}\n` };
  };
}
