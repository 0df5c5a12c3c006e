/** A CEL rule of `x-kubernetes-validations`. Give `message`, `messageExpression` or both: the first is used where the second fails. */
export interface Rule {
  readonly rule: string;
  readonly message: string;
  readonly messageExpression?: string;
  /** A constant path below the node that holds the rule, such as `.spec.roleName`; no list index. */
  readonly fieldPath?: string;
  readonly reason?: 'FieldValueInvalid' | 'FieldValueForbidden' | 'FieldValueRequired' | 'FieldValueDuplicate';
  /** Runs a rule that names `oldSelf` on creation too; `oldSelf` is then an optional. */
  readonly optionalOldSelf?: boolean;
}

/** The part of JSON a schema's `default` can hold. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** The part of apiextensions.k8s.io/v1 JSONSchemaProps in use. */
export interface OpenApi {
  readonly description?: string;
  readonly type?: 'string' | 'boolean' | 'integer' | 'number' | 'array' | 'object';
  readonly format?: 'date-time' | 'int32' | 'int64';
  readonly nullable?: boolean;
  readonly default?: Json;
  readonly enum?: readonly string[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly properties?: { readonly [name: string]: OpenApi };
  readonly required?: readonly string[];
  readonly items?: OpenApi;
  readonly additionalProperties?: OpenApi;
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map';
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-preserve-unknown-fields'?: true;
  readonly 'x-kubernetes-validations'?: readonly Rule[];
}
