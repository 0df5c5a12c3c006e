// The parts of undici that the manager uses: its clients. The index of undici also loads fetch, WebSocket, caches, and
// mocks, which take 0.4 MB of code and 4 MiB of memory for the life of the process. Tree shaking cannot remove these
// parts, because the index is a CommonJS module.
import Dispatcher from 'undici/lib/dispatcher/dispatcher.js';
import api from 'undici/lib/api/index.js';

// undici's own index.js adds the API methods to Dispatcher in the same way.
Object.assign(Dispatcher.prototype, api);

export { default as Agent } from 'undici/lib/dispatcher/agent.js';
export { default as Pool } from 'undici/lib/dispatcher/pool.js';
export { default as ProxyAgent } from 'undici/lib/dispatcher/proxy-agent.js';

// @kubernetes/client-node imports `fetch` from undici in modules that the manager does not use.
export const fetch = () => {
  throw new Error("undici's fetch is not in this build: see hack/build/undici.mjs");
};
