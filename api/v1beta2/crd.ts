import type { Json, OpenApi } from '../schema/openapi.ts';
import { AWSFargateProfile } from './awsfargateprofile.ts';
import { GROUP, KIND, PLURAL, PROVIDER, VERSION } from './kind.ts';
import { PROVIDER_LABEL } from './labels-annotations-finalizer.ts';

interface PrinterColumn {
  readonly name: string;
  readonly type: 'string' | 'date';
  readonly description: string;
  readonly jsonPath: string;
  /** The priority of the column: with 0 (default) `kubectl get` always shows it, with 1 only with `-o wide`. */
  readonly priority?: 0 | 1;
}

interface Version {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly additionalPrinterColumns?: readonly PrinterColumn[];
  readonly selectableFields?: readonly { readonly jsonPath: string }[];
  readonly subresources: { readonly status: Readonly<Record<string, never>> };
  readonly schema: { readonly openAPIV3Schema: OpenApi };
}

/** The fields of CustomResourceDefinition (apiextensions.k8s.io/v1) that the CRD of AWSFargateProfile uses. */
export interface CustomResourceDefinition {
  readonly apiVersion: 'apiextensions.k8s.io/v1';
  readonly kind: 'CustomResourceDefinition';
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly spec: {
    readonly group: string;
    readonly names: { readonly [name: string]: Json };
    readonly scope: 'Namespaced';
    readonly versions: readonly Version[];
  };
}

const ready = (field: string): string => `.status.conditions[?(@.type=="Ready")].${field}`;

const COLUMNS: readonly PrinterColumn[] = [
  {
    name: 'Cluster',
    type: 'string',
    description: 'The Cluster that the profile belongs to, or the EKS cluster that spec.eksCluster names',
    // The column Cluster of `kubectl get` shows spec.clusterName or spec.eksCluster.name. An object has only one of
    // these two fields.
    jsonPath: ".spec['clusterName','eksCluster.name']",
  },
  {
    name: 'Profile',
    type: 'string',
    description: 'The name of the profile in EKS',
    jsonPath: '.status.profileName',
  },
  {
    name: 'Status',
    type: 'string',
    description: 'The state of the profile in EKS',
    jsonPath: '.status.profileStatus',
  },
  {
    name: 'Ready',
    type: 'string',
    description: 'Whether the profile is ACTIVE and equals the spec',
    jsonPath: ready('status'),
  },
  { name: 'Reason', type: 'string', description: 'Reason of the condition Ready', jsonPath: ready('reason') },
  {
    name: 'EKS Cluster',
    type: 'string',
    description: 'The name of the cluster in EKS',
    jsonPath: '.status.eksClusterName',
    priority: 1,
  },
  {
    name: 'Role',
    type: 'string',
    description: 'The name of the pod execution role',
    jsonPath: '.status.role.name',
    priority: 1,
  },
  {
    name: 'Message',
    type: 'string',
    description: 'Message of the condition Ready',
    jsonPath: ready('message'),
    priority: 1,
  },
  {
    name: 'Age',
    type: 'date',
    description: 'Time since the object was created',
    jsonPath: '.metadata.creationTimestamp',
  },
];

/** The OpenAPI schema of AWSFargateProfile, without rules for metadata: the API server itself validates metadata. */
const schema: OpenApi = {
  ...AWSFargateProfile.openapi,
  properties: { ...AWSFargateProfile.openapi.properties, metadata: { type: 'object' } },
};

/**
 * Returns a schema with the defaults of the given schema and without its other constraints. The CRD needs the defaults
 * in each version: an object in etcd gets the defaults of the version in which it is stored, also when a client reads
 * it in another version.
 */
const pickDefaults = ({ type, default: value, properties = {} }: OpenApi): OpenApi | undefined => {
  if (type === undefined) return undefined;
  const inner = Object.entries(properties).flatMap(([name, property]) => {
    const defaults = pickDefaults(property);
    return defaults === undefined ? [] : [[name, defaults] as const];
  });
  if (value === undefined && inner.length === 0) return undefined;
  return {
    type,
    ...(value !== undefined && { default: value }),
    ...(type === 'object' && { 'x-kubernetes-preserve-unknown-fields': true }),
    ...(inner.length > 0 && { properties: Object.fromEntries(inner) }),
  };
};

export const crd: CustomResourceDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: {
    name: `${PLURAL}.${GROUP}`,
    labels: {
      [PROVIDER_LABEL]: PROVIDER,
      // Labels that the Cluster API contract requires. The name of each label contains a version of the contract, and
      // its value is the CRD version that fulfils the contract.
      'cluster.x-k8s.io/v1beta1': VERSION,
      'cluster.x-k8s.io/v1beta2': VERSION,
      // Labels for clusterctl. `clusterctl.cluster.x-k8s.io` marks the CRD as part of a provider. With
      // `clusterctl.cluster.x-k8s.io/move`, `clusterctl move` also moves objects without an owner reference.
      'clusterctl.cluster.x-k8s.io': '',
      'clusterctl.cluster.x-k8s.io/move': '',
    },
  },
  spec: {
    group: GROUP,
    names: {
      categories: ['cluster-api'],
      kind: KIND,
      listKind: `${KIND}List`,
      plural: PLURAL,
      shortNames: ['awsfp'],
      singular: KIND.toLowerCase(),
    },
    scope: 'Namespaced',
    versions: [
      {
        // Old releases of Cluster API Provider AWS stored AWSFargateProfiles in v1beta1. While status.storedVersions of
        // the CRD lists v1beta1, the API server refuses a CRD without this version.
        name: 'v1beta1',
        served: false,
        storage: false,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            description: 'Not served. Old releases of Cluster API Provider AWS stored objects in this version.',
            type: 'object',
            'x-kubernetes-preserve-unknown-fields': true,
            ...pickDefaults(schema),
          },
        },
      },
      {
        name: VERSION,
        served: true,
        storage: true,
        additionalPrinterColumns: COLUMNS,
        selectableFields: [{ jsonPath: '.spec.clusterName' }, { jsonPath: '.spec.eksCluster.name' }],
        subresources: { status: {} },
        schema: { openAPIV3Schema: schema },
      },
    ],
  },
};
