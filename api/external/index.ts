export * from './awsmanagedcontrolplane.ts';
export * from './cluster.ts';
export * from './identity.ts';
export * from './instancegroup-validation.ts';
export * from './instancegroup.ts';
export { withEmptyFields } from './last-applied.ts';
export type { ObjectReference } from './reference.ts';
