/**
 * How long an idle connection to kube-apiserver stays open, in milliseconds. kube-apiserver closes an idle connection
 * after 90 s (the IdleTimeout of its HTTP server, in k8s.io/apiserver/pkg/server/secure_serving.go). A request that is
 * sent at that moment fails with `socket hang up`, so clients close the connection earlier. The connection of a watch
 * is in use, so it stays open however long the watch sends nothing.
 */
export const IDLE_CONNECTION_MS = 60_000;
