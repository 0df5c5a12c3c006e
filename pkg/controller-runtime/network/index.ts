/** Connections to servers, directly or through the environment's proxies. */
export { type DispatcherOptions, newDispatcher, withCheck, joinHeaderValues } from './dispatcher.ts';
export { parseHttpUrl, type ProxyChoice, environmentProxies } from './environment-proxy.ts';
