/** Finds the API server by a kubeconfig or by the service account of a pod, and connects to it. */
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
