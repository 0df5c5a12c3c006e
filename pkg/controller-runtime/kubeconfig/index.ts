/** Finds the API server from a kubeconfig or a pod's service account, and connects to it. */
export {
  type KubeconfigOptions,
  type Kubeconfig,
  loadKubeconfig,
  type KubeconfigFile,
  KubeconfigError,
} from './kubeconfig.ts';
export { type ApiServerConnections, connect } from './undici-transport.ts';
export {
  type ServerAccess,
  type ServerConnections,
  type ConnectToServer,
  newConnectToServer,
} from './token-transport.ts';
