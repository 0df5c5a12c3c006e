/** Connections to servers, directly or through the proxies that the environment names. */
export { type DispatcherOptions, newDispatcher, withCheck, joinHeaderValues } from './dispatcher.ts';
export { parseHttpUrl, type ProxyChoice, environmentProxies } from './environment-proxy.ts';
