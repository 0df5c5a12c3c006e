import { shellCommand } from 'controller-runtime/text';
import type { FargatePod } from './read.ts';

/** How an owner's pods get new nodes: the user restarts the owner, or deletes the pods and the owner recreates them. */
interface Renewal {
  /** Such as `Deployment shop/web`, or the pod itself if it has no owner. */
  readonly owner: string;
  readonly pods: number;
  /** Commands for a POSIX shell. capaf does not run them. */
  readonly commands: readonly string[];
  /** What to do if no command helps. */
  readonly note: string | null;
}

/** `kubectl` is the program with the options that select the cluster. */
export function renewalsOf(pods: readonly FargatePod[], kubectl: readonly string[]): readonly Renewal[] {
  const byOwner = Map.groupBy(pods, ({ owner, namespace, name }) =>
    owner === null ? `Pod ${namespace}/${name}` : `${owner.kind} ${namespace}/${owner.name}`,
  );
  return [...byOwner].map(([owner, owned]) => {
    const renewed = owned.flatMap((pod) => commandsFor(pod, kubectl));
    const note = NOTES.get(owned[0]?.owner?.kind ?? 'Pod') ?? null;
    return { owner, pods: owned.length, commands: [...new Set(renewed)], note };
  });
}

const NOTES: ReadonlyMap<string, string> = new Map([
  ['Pod', 'no controller recreates it: delete it, and apply its manifest again'],
  ['Job', 'wait until it finishes: a new pod would start over'],
]);

function commandsFor({ owner, namespace, name }: FargatePod, kubectl: readonly string[]): readonly string[] {
  const of = `--namespace=${namespace}`;
  if (owner === null || owner.kind === 'Job') return [];
  return owner.kind === 'Deployment' || owner.kind === 'StatefulSet'
    ? [shellCommand([...kubectl, 'rollout', 'restart', of, `${owner.kind.toLowerCase()}/${owner.name}`])]
    : [shellCommand([...kubectl, 'delete', of, `pod/${name}`])];
}
