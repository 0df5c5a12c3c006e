/** Connections to servers, directly or through the environment's proxies. */
export * from './dispatcher.ts';
export * from './environment-proxy.ts';
