import { isLeft, type Either } from 'fp-ts/lib/Either.js';
import {
  decode,
  type DecodeProblem,
  integer,
  list,
  map,
  nullable,
  object,
  ObjectMeta,
  oneOf,
  optional,
  optionalText,
  string,
  text,
  type TypeOf,
} from 'controller-runtime/schema';
import { RoleArn } from '../names.ts';

export const IDENTITY_GROUP = 'infrastructure.cluster.x-k8s.io';
export const IDENTITY_VERSION = 'v1beta2';

export const CONTROLLER_IDENTITY_KIND = 'AWSClusterControllerIdentity' as const;
export const STATIC_IDENTITY_KIND = 'AWSClusterStaticIdentity' as const;
export const ROLE_IDENTITY_KIND = 'AWSClusterRoleIdentity' as const;

/** For the API server's URL paths. */
export const IDENTITY_PLURALS = {
  [CONTROLLER_IDENTITY_KIND]: 'awsclustercontrolleridentities',
  [STATIC_IDENTITY_KIND]: 'awsclusterstaticidentities',
  [ROLE_IDENTITY_KIND]: 'awsclusterroleidentities',
} as const;

export const IdentityKind = oneOf([CONTROLLER_IDENTITY_KIND, STATIC_IDENTITY_KIND, ROLE_IDENTITY_KIND]);
export type IdentityKind = TypeOf<typeof IdentityKind>;

/** A reference to a cluster-scoped identity of CAPA. `kind` may be a kind that this provider does not support. */
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
 * No namespace may use the identity if `allowedNamespaces` is absent or `null`. All may use it if the field is an empty
 * object. An object with an empty `list` is not an empty object: such a list does not allow any namespace.
 */
export const AllowedNamespaces = object({
  list: optional(nullable(list(string()))),
  selector: optional(LabelSelector),
});
export interface AllowedNamespaces extends TypeOf<typeof AllowedNamespaces> {}

const allowedNamespacesField = { allowedNamespaces: optional(nullable(AllowedNamespaces)) };

/** Stands for the manager's own credentials. The only object of this kind is called `default`. */
const AWSClusterControllerIdentity = object({
  kind: oneOf([CONTROLLER_IDENTITY_KIND]),
  metadata: ObjectMeta,
  spec: optional(object(allowedNamespacesField)),
});
interface AWSClusterControllerIdentity extends TypeOf<typeof AWSClusterControllerIdentity> {}

/** Access keys in a Secret in the manager's namespace, or in the namespace of --static-identity-namespace. */
export const AWSClusterStaticIdentity = object({
  kind: oneOf([STATIC_IDENTITY_KIND]),
  metadata: ObjectMeta,
  spec: object({ ...allowedNamespacesField, secretRef: string({ wanted: 'the name of a Secret' }) }),
});
export interface AWSClusterStaticIdentity extends TypeOf<typeof AWSClusterStaticIdentity> {}

/** A role that the manager assumes with the credentials of `sourceIdentityRef` or, if it is not set, with its own. */
export const AWSClusterRoleIdentity = object({
  kind: oneOf([ROLE_IDENTITY_KIND]),
  metadata: ObjectMeta,
  spec: object({
    ...allowedNamespacesField,
    roleARN: text(RoleArn, { wanted: 'the ARN of an IAM role' }),
    sessionName: optionalText(string()),
    /** 900 to 43200. */
    durationSeconds: optional(integer({ format: 'int32' })),
    inlinePolicy: optionalText(string()),
    policyARNs: optional(list(string())),
    externalID: optionalText(string()),
    sourceIdentityRef: optional(IdentityReference),
  }),
});
export interface AWSClusterRoleIdentity extends TypeOf<typeof AWSClusterRoleIdentity> {}

export type Identity = AWSClusterControllerIdentity | AWSClusterStaticIdentity | AWSClusterRoleIdentity;

const CODECS = {
  [CONTROLLER_IDENTITY_KIND]: AWSClusterControllerIdentity,
  [STATIC_IDENTITY_KIND]: AWSClusterStaticIdentity,
  [ROLE_IDENTITY_KIND]: AWSClusterRoleIdentity,
};

export function decodeIdentity(input: unknown): Either<readonly DecodeProblem[], Identity> {
  const decoded = decode(object({ kind: IdentityKind }), input);
  return isLeft(decoded) ? decoded : decode<Identity>(CODECS[decoded.right.kind], input);
}
