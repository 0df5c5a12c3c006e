/** Each declaration of a field provides its type, its decoder, and its OpenAPI schema. */
export * from './field.ts';
export * from './openapi.ts';
export * from './problem.ts';
export * from './meta.ts';
