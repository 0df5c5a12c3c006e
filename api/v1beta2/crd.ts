import type { Json, OpenApi } from '../schema/openapi.ts';
import { AWSFargateProfile } from './awsfargateprofile.ts';
import { GROUP, KIND, PLURAL, PROVIDER, PROVIDER_LABEL, VERSION } from './constants.ts';

interface PrinterColumn {
  readonly name: string;
  readonly type: 'string' | 'date';
  readonly description: string;
  readonly jsonPath: string;
  /** 0: always shown; 1: only with `-o wide`. */
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

/** The part of apiextensions.k8s.io/v1 CustomResourceDefinition in use. */
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
  { name: 'Cluster', type: 'string', description: 'The Cluster of the profile', jsonPath: '.spec.clusterName' },
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
  { name: 'Ready', type: 'string', description: 'Whether the profile can be used', jsonPath: ready('status') },
  { name: 'Reason', type: 'string', description: 'Why it is ready or not', jsonPath: ready('reason') },
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
    description: 'Why it is ready or not, in words',
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

/** The schema of the kind; metadata is the API server's own affair. */
const schema: OpenApi = {
  ...AWSFargateProfile.openapi,
  properties: { ...AWSFargateProfile.openapi.properties, metadata: { type: 'object' } },
};

/**
 * What of a schema fills in defaults, and lets everything else through. An object that is stored in an old version is read
 * with the defaults of that version, also by who asks for a newer one.
 */
const defaultsOf = ({ type, default: value, properties = {} }: OpenApi): OpenApi | undefined => {
  if (type === undefined) return undefined;
  const inner = Object.entries(properties).flatMap(([name, property]) => {
    const defaults = defaultsOf(property);
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
      // Which of the versions below fulfil which contract of Cluster API.
      'cluster.x-k8s.io/v1beta1': VERSION,
      'cluster.x-k8s.io/v1beta2': VERSION,
      // clusterctl knows its own by the first, and moves all objects of the kind, owner reference or not, by the second.
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
        // Objects that Cluster API Provider AWS stored long ago may be of this version, and while the CRD's status lists it
        // among its storedVersions, the API server refuses a CRD without it.
        name: 'v1beta1',
        served: false,
        storage: false,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            description: 'Not served: it is here because objects of long ago may still be stored in this version.',
            type: 'object',
            'x-kubernetes-preserve-unknown-fields': true,
            ...defaultsOf(schema),
          },
        },
      },
      {
        name: VERSION,
        served: true,
        storage: true,
        additionalPrinterColumns: COLUMNS,
        selectableFields: [{ jsonPath: '.spec.clusterName' }],
        subresources: { status: {} },
        schema: { openAPIV3Schema: schema },
      },
    ],
  },
};
