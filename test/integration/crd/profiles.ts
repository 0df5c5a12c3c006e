import { fileURLToPath } from 'node:url';
import type { ApiResponse } from '../../envtest/clients/api.ts';

/**
 * The path of the CRD of AWSFargateProfile as Cluster API Provider AWS declares it, reduced to the parts that matter
 * for tests.
 */
export const CAPA_CRD = fileURLToPath(new URL('../../crds/capa/awsfargateprofiles.yaml', import.meta.url));

export const PROFILES = '/apis/infrastructure.cluster.x-k8s.io/v1beta2/namespaces/default/awsfargateprofiles';

/** An object that a test sends to the API server, without the metadata that the API server adds. */
export interface Draft {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly spec?: unknown;
}

/**
 * Returns a valid AWSFargateProfile with the given fields in its spec. A field with the value `undefined` is removed
 * from the valid spec.
 */
export const profile = (name: string, spec: object = {}): Draft => ({
  apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta2',
  kind: 'AWSFargateProfile',
  metadata: { name },
  spec: { clusterName: 'prod', selectors: [{ namespace: 'default' }], ...spec },
});

interface Cause {
  readonly field: string;
  readonly message: string;
}

/**
 * Returns the reasons for which the API server refuses an object, each as `field: message`; an empty list if the API
 * server accepts the object.
 * @throws if the API server gives any other answer, for example a refusal without causes
 */
export const causesOf = ({ status, body }: ApiResponse): readonly string[] => {
  if (status < 300) return [];
  const causes =
    typeof body === 'object' && body !== null && 'details' in body && isDetails(body.details)
      ? body.details.causes
      : undefined;
  if (status !== 422 || causes === undefined) throw new Error(`answered ${status}: ${JSON.stringify(body)}`);
  return causes.map(({ field, message }) => `${field}: ${message}`);
};

const isDetails = (details: unknown): details is { readonly causes: readonly Cause[] } =>
  typeof details === 'object' && details !== null && 'causes' in details && Array.isArray(details.causes);
