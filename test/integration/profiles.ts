import { fileURLToPath } from 'node:url';
import type { ApiResponse } from '../envtest/api.ts';

const file = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

export const OUR_CRD = file('config/crd/bases/infrastructure.cluster.x-k8s.io_awsfargateprofiles.yaml');
/** Cluster API Provider AWS's, in small. */
export const CAPA_CRD = file('test/crds/capa/awsfargateprofiles.yaml');

export const PROFILES = '/apis/infrastructure.cluster.x-k8s.io/v1beta2/namespaces/default/awsfargateprofiles';

/** An object on its way to the API server. */
export interface Draft {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly spec?: unknown;
}

/** A profile that is right, but for what `spec` says otherwise; `undefined` takes a field out. */
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

/** `field: message` of everything that the API server has against an object; nothing if it took it. Throws on any other refusal. */
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
