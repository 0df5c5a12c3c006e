/** Finds the API server from a kubeconfig or a pod's service account, and connects to it. */
export * from './kubeconfig.ts';
export * from './undici-transport.ts';
export * from './token-transport.ts';
