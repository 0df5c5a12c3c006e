import { EksClusterName } from '../names.ts';
import { object, optional, optionalText, string, text } from '../schema/field.ts';
import type { TypeOf } from '../schema/field.ts';
import {
  EKS_CLUSTER_NAME_RULES,
  EKS_CLUSTER_RULES,
  IDENTITY_REF_RULES,
  REGION_RULES,
} from './cluster-validation-rules.ts';

/**
 * A maximum length that only limits the API server's cost estimate for CEL rules. CEL rules check the values more
 * strictly.
 */
const WIDE = 1024;

const IdentityRef = object(
  {
    kind: string({
      description: 'AWSClusterControllerIdentity, AWSClusterRoleIdentity or AWSClusterStaticIdentity.',
      wanted: 'AWSClusterControllerIdentity, AWSClusterRoleIdentity or AWSClusterStaticIdentity',
      maxLength: WIDE,
    }),
    name: string({
      description: 'The name of the identity object.',
      wanted: 'the name of the identity object',
      maxLength: WIDE,
    }),
  },
  {
    description:
      'The identity of Cluster API Provider AWS with whose credentials the controller calls AWS; its allowedNamespaces must ' +
      "allow the namespace of this object. Default: the controller's own credentials, under the rules of the " +
      'AWSClusterControllerIdentity "default" if there is one. Can be changed at any time.',
    rules: IDENTITY_REF_RULES,
  },
);

export const EksClusterReference = object(
  {
    name: text(EksClusterName, {
      description: 'The name of the cluster in EKS. Required. Immutable.',
      wanted: 'the name of the cluster in EKS',
      maxLength: WIDE,
      rules: EKS_CLUSTER_NAME_RULES,
    }),
    region: optionalText(
      string({
        description: 'The AWS region of the EKS cluster. Default: the region of the manager. Immutable.',
        maxLength: WIDE,
        rules: REGION_RULES,
      }),
    ),
    identityRef: optional(IdentityRef),
  },
  {
    description:
      'An EKS cluster that Cluster API does not manage. The operator of the controller must allow it for ' +
      'the namespace with the flag --allow-eks-cluster. For a Cluster of Cluster API use clusterName.',
    rules: EKS_CLUSTER_RULES,
  },
);
export interface EksClusterReference extends TypeOf<typeof EksClusterReference> {}
