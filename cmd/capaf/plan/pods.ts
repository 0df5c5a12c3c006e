import { fieldAt } from '../../../api/record.ts';
import { errorMessage } from '../../../pkg/env/error-text.ts';
import { keyOf, keyText } from '../../../pkg/kube/object-key.ts';
import type { KubeClient, KubeObject } from '../../../pkg/kube/types.ts';
import { PROFILE_LABEL } from '../explain/decide.ts';
import type { Io } from '../io.ts';
import { type KubeAccess, openKube, openWorkloadCluster } from '../kube.ts';
import type { PlannedObject, TimedChange } from './planner.ts';

/** The pods that a Fargate profile runs now. */
export interface RunningPods {
  readonly running: number;
  /** Nothing creates these pods again. */
  readonly withoutOwner: readonly string[];
}

/** A change with `deletedProfile` has `pods`; `null`: the workload cluster cannot be read. */
export type ChangeWithPods = TimedChange & { readonly pods?: RunningPods | null };
export type ObjectWithPods = Omit<PlannedObject, 'changes'> & { readonly changes: readonly ChangeWithPods[] };

type PodsByProfile = ReadonlyMap<string, RunningPods>;

/** Adds to each deletion of a profile what runs on it, and to `notes` why that is not known. */
export async function addPods(
  objects: readonly PlannedObject[],
  notes: string[],
  { kube, workloadKubeconfig }: { readonly kube: KubeAccess; readonly workloadKubeconfig: string | undefined },
  io: Io,
): Promise<readonly ObjectWithPods[]> {
  const deleting = objects.filter(({ changes }) => changes.some(({ deletedProfile }) => deletedProfile !== undefined));
  const byCluster = Map.groupBy(deleting, (object) => clusterText(object));
  const read = new Map<string, PodsByProfile>();
  for (const [text, [object]] of byCluster) {
    try {
      if (workloadKubeconfig !== undefined && byCluster.size > 1)
        throw new Error('the plan has several clusters. Plan the objects of each cluster on their own');
      const management = { ...kube, namespace: object?.namespace ?? kube.namespace };
      if (workloadKubeconfig === undefined && object?.clusterName === undefined)
        throw new Error('name its kubeconfig with --workload-kubeconfig');
      await using workload =
        workloadKubeconfig === undefined
          ? await openWorkloadCluster(management, object?.clusterName ?? '', io)
          : openKube({ kubeconfig: workloadKubeconfig }, io);
      read.set(text, await readPods(workload.client, io.signal));
    } catch (error) {
      io.signal.throwIfAborted();
      notes.push(`How many pods EKS stops in ${text} is not known: ${errorMessage(error)}`);
    }
  }
  return objects.map((object) => ({
    ...object,
    changes: object.changes.map((change) => {
      if (change.deletedProfile === undefined) return change;
      return { ...change, pods: findPods(read.get(clusterText(object)), change.deletedProfile) };
    }),
  }));
}

const LABEL_VALUE = /^[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?$/;

/** No label shows the pods of a profile whose name is no value of a label, for example a name of 64 characters. */
export const findPods = (pods: PodsByProfile | undefined, profile: string): RunningPods | null =>
  pods === undefined || !LABEL_VALUE.test(profile) ? null : (pods.get(profile) ?? { running: 0, withoutOwner: [] });

const clusterText = ({ namespace, clusterName, eksCluster }: PlannedObject): string =>
  clusterName === undefined ? `EKS cluster ${eksCluster}` : `Cluster ${namespace}/${clusterName}`;

/** The page size of kubectl. */
const PAGE_SIZE = 500;
const PODS = { group: '', version: 'v1', plural: 'pods' };

async function readPods(client: KubeClient, signal: AbortSignal): Promise<PodsByProfile> {
  const pods: KubeObject[] = [];
  let next: string | undefined;
  do {
    const page = await client.list(PODS, { labelSelector: PROFILE_LABEL, limit: PAGE_SIZE, continue: next, signal });
    pods.push(...page.items);
    next = page.continue;
  } while (next !== undefined);
  const running = pods.filter(({ status }) => !['Succeeded', 'Failed'].includes(String(fieldAt(status, 'phase'))));
  const byProfile = Map.groupBy(running, ({ metadata }) => metadata.labels?.[PROFILE_LABEL] ?? '');
  return new Map([...byProfile].map(([profile, all]) => [profile, toRunningPods(all)]));
}

function toRunningPods(pods: readonly KubeObject[]): RunningPods {
  const withoutOwner = pods.filter(({ metadata: { ownerReferences = [] } }) => ownerReferences.length === 0);
  return { running: pods.length, withoutOwner: withoutOwner.map((pod) => keyText(keyOf(pod))) };
}
