export * from './awsfargateprofile.ts';
export * from './condition.ts';
export type { EksClusterReference } from './eks-cluster.ts';
export * from './kind.ts';
export * from './labels-annotations-finalizer.ts';
export * from './spec.ts';
export * from './status.ts';
export { describeProblem, describeProblems } from '../schema/problem.ts';
export type { DecodeProblem } from '../schema/problem.ts';
