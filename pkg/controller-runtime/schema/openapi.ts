/** `message` is reported if `messageExpression` is absent or fails. */
export interface Rule {
  readonly rule: string;
  readonly message: string;
  readonly messageExpression?: string;
  /**
   * The field that the API server reports in the error, such as `.spec.roleName`, relative to the node with the rule.
   * It cannot contain a list index.
   */
  readonly fieldPath?: string;
  readonly reason?: 'FieldValueInvalid' | 'FieldValueForbidden' | 'FieldValueRequired' | 'FieldValueDuplicate';
  /** Makes `oldSelf` a CEL optional, and also applies the rule when an object is created. */
  readonly optionalOldSelf?: boolean;
}

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** The fields of JSONSchemaProps (apiextensions.k8s.io/v1) that declarations of fields use. */
export interface OpenApi {
  readonly description?: string;
  readonly type?: 'string' | 'boolean' | 'integer' | 'number' | 'array' | 'object';
  readonly format?: 'date-time' | 'int32' | 'int64';
  readonly nullable?: boolean;
  readonly default?: Json;
  readonly enum?: readonly string[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
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
