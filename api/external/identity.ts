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

/** The plural of each kind, for its path. */
export const IDENTITY_PLURALS = {
  [CONTROLLER_IDENTITY_KIND]: 'awsclustercontrolleridentities',
  [STATIC_IDENTITY_KIND]: 'awsclusterstaticidentities',
  [ROLE_IDENTITY_KIND]: 'awsclusterroleidentities',
} as const;

export const IdentityKind = oneOf([CONTROLLER_IDENTITY_KIND, STATIC_IDENTITY_KIND, ROLE_IDENTITY_KIND]);
export type IdentityKind = TypeOf<typeof IdentityKind>;

/** Identities are cluster-scoped: kind and name say it all. The kind may be one that is not known here. */
export const IdentityReference = object({ kind: string(), name: string() });
export interface IdentityReference extends TypeOf<typeof IdentityReference> {}

export const LabelSelector = object({
  matchLabels: optional(map(string())),
  matchExpressions: optional(list(object({ key: string(), operator: string(), values: optional(list(string())) }))),
});
export interface LabelSelector extends TypeOf<typeof LabelSelector> {}

/**
 * Which namespaces may use an identity. CAPA tells `null`, absent and empty apart at both levels: none may without the
 * object, all may with an empty one, none may with an empty list.
 */
export const AllowedNamespaces = object({
  list: optional(nullable(list(string()))),
  selector: optional(LabelSelector),
});
export interface AllowedNamespaces extends TypeOf<typeof AllowedNamespaces> {}

const allowed = { allowedNamespaces: optional(nullable(AllowedNamespaces)) };

/** The credentials of the controller itself; the object's name must be `default`. */
export const AWSClusterControllerIdentity = object({
  kind: oneOf([CONTROLLER_IDENTITY_KIND]),
  metadata: ObjectMeta,
  spec: optional(object(allowed)),
});
export interface AWSClusterControllerIdentity extends TypeOf<typeof AWSClusterControllerIdentity> {}

/** Long-lived keys in a Secret of the controller's namespace. */
export const AWSClusterStaticIdentity = object({
  kind: oneOf([STATIC_IDENTITY_KIND]),
  metadata: ObjectMeta,
  spec: object({ ...allowed, secretRef: string() }),
});
export interface AWSClusterStaticIdentity extends TypeOf<typeof AWSClusterStaticIdentity> {}

/** A role to assume, with the credentials of another identity or of the controller. */
export const AWSClusterRoleIdentity = object({
  kind: oneOf([ROLE_IDENTITY_KIND]),
  metadata: ObjectMeta,
  spec: object({
    ...allowed,
    roleARN: text(RoleArn),
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

const KindOnly = object({ kind: IdentityKind });

/** Decodes an identity of whichever of the three kinds the object says that it is. */
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
