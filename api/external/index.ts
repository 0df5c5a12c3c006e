export * from './awsmanagedcontrolplane.ts';
export * from './cluster.ts';
export * from './identity.ts';
export * from './instancegroup.ts';
