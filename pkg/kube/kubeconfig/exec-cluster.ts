import { readFileSync } from 'node:fs';
import { fieldAt, isRecord, textAt } from '../../../api/record.ts';
import type { UnknownRecord } from '../../../api/record.ts';

/** The name of the extension of a kubeconfig cluster that contains settings for exec plugins. */
const EXEC_EXTENSION = 'client.authentication.k8s.io/exec';

/**
 * The cluster that an exec plugin with `provideClusterInfo: true` gets in `spec.cluster` of its ExecCredential:
 * https://kubernetes.io/docs/reference/config-api/client-authentication.v1/
 */
export interface ExecCluster {
  readonly server: string | undefined;
  readonly 'tls-server-name': string | undefined;
  readonly 'insecure-skip-tls-verify': true | undefined;
  readonly 'certificate-authority-data': string | undefined;
  readonly 'proxy-url': string | undefined;
  readonly 'disable-compression': true | undefined;
  readonly config: unknown;
}

/**
 * Returns the cluster of a kubeconfig in the form that client-go gives to exec plugins. The caller has checked that the
 * file with the certificate authority exists.
 */
export function execClusterOf(cluster: UnknownRecord): ExecCluster {
  const path = textAt(cluster, 'certificate-authority');
  const extensions: readonly unknown[] = Array.isArray(cluster['extensions']) ? cluster['extensions'] : [];
  const extension = extensions.find((each) => isRecord(each) && each['name'] === EXEC_EXTENSION);
  const flag = (field: string): true | undefined => (cluster[field] === true ? true : undefined);
  return {
    server: textAt(cluster, 'server'),
    'tls-server-name': textAt(cluster, 'tls-server-name'),
    'insecure-skip-tls-verify': flag('insecure-skip-tls-verify'),
    'certificate-authority-data':
      textAt(cluster, 'certificate-authority-data') ?? (path === undefined ? undefined : readFileSync(path, 'base64')),
    'proxy-url': textAt(cluster, 'proxy-url'),
    'disable-compression': flag('disable-compression'),
    config: fieldAt(extension, 'extension'),
  };
}
