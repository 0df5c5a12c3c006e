// What the manager uses of undici: its clients. Its own index loads fetch, WebSocket, caches and mocks too, as CommonJS that
// cannot be shaken: 0.4 MB of text, and 4 MiB of memory for as long as the manager runs.
import Dispatcher from 'undici/lib/dispatcher/dispatcher.js';
import api from 'undici/lib/api/index.js';

// As undici's index does it.
Object.assign(Dispatcher.prototype, api);

export { default as Agent } from 'undici/lib/dispatcher/agent.js';
export { default as EnvHttpProxyAgent } from 'undici/lib/dispatcher/env-http-proxy-agent.js';
export { default as ProxyAgent } from 'undici/lib/dispatcher/proxy-agent.js';

// Modules of client-node name it of which the manager uses nothing.
export const fetch = () => {
  throw new Error("undici's fetch is not in this build: see hack/build/undici.mjs");
};
