import { findNodeProblems } from '../../../pkg/fargate/node-labels.ts';
import { type FieldProblem, findFieldProblems } from '../../../pkg/fargate/pod-limits.ts';
import type { Pod } from './pod.ts';

/** A field that makes Fargate refuse the pod. `field` is a path in the manifest. */
export interface Violation {
  readonly field: string;
  readonly message: string;
}

/** What Fargate's limits mean for a pod, except for its PersistentVolumeClaims (volumes.ts). */
export interface Limits {
  readonly violations: readonly Violation[];
  /** Why Fargate might refuse the pod. */
  readonly risks: readonly string[];
  /** Fields that do not prevent the pod from starting, but may not work as its author expects. */
  readonly advice: readonly string[];
}

export function findLimits(pod: Pod, region: string): Limits {
  const problems = findFieldProblems(pod.spec);
  // The check skips a DaemonSet's node selectors: a DaemonSet creates no pods for nodes that its selectors exclude, so
  // they can keep its pods off Fargate. See kubernetes-sigs/aws-efs-csi-driver#328.
  const nodeProblems = pod.owner === 'DaemonSet' ? [] : [...findNodeProblems(pod.spec, region)];
  const toViolation = ({ path, message }: { readonly path: string; readonly message: string }): Violation => {
    return { field: `${pod.path}${path}`, message };
  };
  const of = (wanted: FieldProblem['severity']): readonly Violation[] =>
    problems.filter(({ severity }) => severity === wanted).map(toViolation);
  const textsOf = (wanted: FieldProblem['severity']): readonly string[] =>
    of(wanted).map(({ field, message }) => `${field}: ${message}`);
  return {
    violations: [...findKindViolations(pod), ...of('refused'), ...nodeProblems.map(toViolation)],
    risks: textsOf('risky'),
    advice: textsOf('ignored'),
  };
}

function* findKindViolations({ kind, owner }: Pod): Generator<Violation> {
  if (owner !== 'DaemonSet') return;
  const field = kind === 'Pod' ? 'metadata.ownerReferences' : 'kind';
  yield { field, message: 'pods of a DaemonSet do not run on Fargate; use a sidecar container' };
}
