import { chain } from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { ObjectMeta } from '../meta.ts';
import { RoleArn } from '../names.ts';
import { integer, list, map, nullable, object, oneOf, optional, optionalText, string, text } from '../schema/field.ts';
import type { TypeOf } from '../schema/field.ts';
import { decode } from '../schema/problem.ts';
import type { DecodeProblem } from '../schema/problem.ts';

export const IDENTITY_GROUP = 'infrastructure.cluster.x-k8s.io';
export const IDENTITY_VERSION = 'v1beta2';

export const CONTROLLER_IDENTITY_KIND = 'AWSClusterControllerIdentity' as const;
export const STATIC_IDENTITY_KIND = 'AWSClusterStaticIdentity' as const;
export const ROLE_IDENTITY_KIND = 'AWSClusterRoleIdentity' as const;

/** The plural name of each identity kind, as in the URL paths of the API server. */
export const IDENTITY_PLURALS = {
  [CONTROLLER_IDENTITY_KIND]: 'awsclustercontrolleridentities',
  [STATIC_IDENTITY_KIND]: 'awsclusterstaticidentities',
  [ROLE_IDENTITY_KIND]: 'awsclusterroleidentities',
} as const;

export const IdentityKind = oneOf([CONTROLLER_IDENTITY_KIND, STATIC_IDENTITY_KIND, ROLE_IDENTITY_KIND]);
export type IdentityKind = TypeOf<typeof IdentityKind>;

/**
 * A reference to an identity of Cluster API Provider AWS. Identities are cluster-scoped, so kind and name are enough.
 * `kind` may be a kind that this provider does not support.
 */
export const IdentityReference = object({
  kind: string({ wanted: `${CONTROLLER_IDENTITY_KIND}, ${STATIC_IDENTITY_KIND} or ${ROLE_IDENTITY_KIND}` }),
  name: string({ wanted: 'the name of an identity' }),
});
export interface IdentityReference extends TypeOf<typeof IdentityReference> {}

export const LabelSelector = object({
  matchLabels: optional(map(string())),
  matchExpressions: optional(
    list(
      object({
        key: string({ wanted: 'the key of a label' }),
        operator: string({ wanted: 'In, NotIn, Exists or DoesNotExist' }),
        values: optional(list(string())),
      }),
    ),
  ),
});
export interface LabelSelector extends TypeOf<typeof LabelSelector> {}

/**
 * The namespaces that may use an identity of Cluster API Provider AWS. If `allowedNamespaces` is absent or `null`, no
 * namespace may use the identity. If `allowedNamespaces` is an empty object, all namespaces may use it. An object with
 * an empty `list` is not an empty object: such a list allows no namespace.
 */
export const AllowedNamespaces = object({
  list: optional(nullable(list(string()))),
  selector: optional(LabelSelector),
});
export interface AllowedNamespaces extends TypeOf<typeof AllowedNamespaces> {}

const allowedNamespacesField = { allowedNamespaces: optional(nullable(AllowedNamespaces)) };

/**
 * The identity kind that stands for the manager's own credentials. The only object of this kind is called `default`.
 */
export const AWSClusterControllerIdentity = object({
  kind: oneOf([CONTROLLER_IDENTITY_KIND]),
  metadata: ObjectMeta,
  spec: optional(object(allowedNamespacesField)),
});
export interface AWSClusterControllerIdentity extends TypeOf<typeof AWSClusterControllerIdentity> {}

/**
 * The identity kind for long-lived access keys in a Secret. The Secret is in the manager's namespace, unless the flag
 * --static-identity-namespace names another.
 */
export const AWSClusterStaticIdentity = object({
  kind: oneOf([STATIC_IDENTITY_KIND]),
  metadata: ObjectMeta,
  spec: object({ ...allowedNamespacesField, secretRef: string({ wanted: 'the name of a Secret' }) }),
});
export interface AWSClusterStaticIdentity extends TypeOf<typeof AWSClusterStaticIdentity> {}

/**
 * The identity kind for an IAM role. The role is assumed with the credentials of the identity in `sourceIdentityRef`,
 * or with those of the manager if `sourceIdentityRef` is absent.
 */
export const AWSClusterRoleIdentity = object({
  kind: oneOf([ROLE_IDENTITY_KIND]),
  metadata: ObjectMeta,
  spec: object({
    ...allowedNamespacesField,
    roleARN: text(RoleArn, { wanted: 'the ARN of an IAM role' }),
    sessionName: optionalText(string()),
    /** The duration of the assumed role's session in seconds, 900 to 43200. */
    durationSeconds: optional(integer({ format: 'int32' })),
    inlinePolicy: optionalText(string()),
    policyARNs: optional(list(string())),
    externalID: optionalText(string()),
    sourceIdentityRef: optional(IdentityReference),
  }),
});
export interface AWSClusterRoleIdentity extends TypeOf<typeof AWSClusterRoleIdentity> {}

export type Identity = AWSClusterControllerIdentity | AWSClusterStaticIdentity | AWSClusterRoleIdentity;

const KindOnly = object({ kind: IdentityKind });

/**
 * Decodes an identity object of Cluster API Provider AWS. Its `kind` is AWSClusterControllerIdentity,
 * AWSClusterStaticIdentity or AWSClusterRoleIdentity, and selects the decoder.
 */
export const decodeIdentity = (input: unknown): Either<readonly DecodeProblem[], Identity> =>
  chain(({ kind }: TypeOf<typeof KindOnly>): Either<readonly DecodeProblem[], Identity> => {
    switch (kind) {
      case CONTROLLER_IDENTITY_KIND:
        return decode(AWSClusterControllerIdentity, input);
      case STATIC_IDENTITY_KIND:
        return decode(AWSClusterStaticIdentity, input);
      case ROLE_IDENTITY_KIND:
        return decode(AWSClusterRoleIdentity, input);
    }
  })(decode(KindOnly, input));
