import type { OpenApi } from 'controller-runtime/schema';
import { AWSFargateProfile } from './awsfargateprofile.ts';
import { GROUP, KIND, PLURAL, PROVIDER, VERSION, PROVIDER_LABEL } from './kind.ts';

const ready = (field: string): string => `.status.conditions[?(@.type=="Ready")].${field}`;

const COLUMNS = [
  {
    name: 'Cluster',
    type: 'string',
    description: 'The Cluster that the profile belongs to, or the EKS cluster that spec.eksCluster names',
    // An object sets only one of these two fields.
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

/** Contains no rules for metadata, because the API server itself validates metadata. */
const schema: OpenApi = {
  ...AWSFargateProfile.openapi,
  properties: { ...AWSFargateProfile.openapi.properties, metadata: { type: 'object' } },
};

/**
 * Returns the schema's defaults without its other constraints, for CRD versions that are not served. These versions need
 * the defaults, because an object in etcd gets the defaults of the version in which it is stored.
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

/**
 * A version in which etcd may contain objects, but which clients cannot use. While the status.storedVersions of the CRD
 * in the API server lists a version, the API server refuses any update of the CRD that lacks this version.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#upgrade-existing-objects-to-a-new-stored-version
 */
export const unservedVersion = (name: string) => ({
  name,
  served: false,
  storage: false,
  subresources: { status: {} },
  schema: {
    openAPIV3Schema: {
      description: 'Not served. Releases of Cluster API Provider AWS store objects in this version.',
      type: 'object',
      'x-kubernetes-preserve-unknown-fields': true,
      ...pickDefaults(schema),
    } satisfies OpenApi,
  },
});

export const crd = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: {
    name: `${PLURAL}.${GROUP}`,
    labels: {
      [PROVIDER_LABEL]: PROVIDER,
      // The Cluster API contract requires these labels. Each maps a version of the contract to a version of the CRD.
      'cluster.x-k8s.io/v1beta1': VERSION,
      'cluster.x-k8s.io/v1beta2': VERSION,
      // Tells clusterctl that the CRD is part of a provider, and that `clusterctl move` also moves objects without an
      // owner reference.
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
      // Old releases of CAPA stored v1beta1. CAPA plans v1beta3: kubernetes-sigs/cluster-api-provider-aws#6108.
      unservedVersion('v1beta1'),
      {
        name: VERSION,
        served: true,
        storage: true,
        additionalPrinterColumns: COLUMNS,
        selectableFields: [{ jsonPath: '.spec.clusterName' }, { jsonPath: '.spec.eksCluster.name' }],
        subresources: { status: {} },
        schema: { openAPIV3Schema: schema },
      },
      unservedVersion('v1beta3'),
    ],
  },
};
