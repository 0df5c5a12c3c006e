import { isLeft } from 'fp-ts/lib/Either.js';
import { keyOf, keyText, type KubeObject } from 'controller-runtime/client';
import { isLabelValue, ownerOf } from '../../../pkg/fargate/fargate-pods.ts';
import { type AwsOptions, tolerate } from '../aws.ts';
import { Failure, type Io } from '../io.ts';
import type { KubeAccess } from '../kube.ts';
import { listFargatePods, openPodCluster, profileOf } from '../workload.ts';
import type { PlannedObject, TimedChange } from './planner.ts';

export interface RunningPods {
  readonly running: number;
  /** Pods that no controller recreates. */
  readonly withoutOwner: readonly string[];
}

/** If the change deletes a profile, `pods` are the pods that run on the profile, or `null` if they are not known. */
type ChangeWithPods = TimedChange & { readonly pods?: RunningPods | null };
export type ObjectWithPods = Omit<PlannedObject, 'changes'> & { readonly changes: readonly ChangeWithPods[] };

type PodsByProfile = ReadonlyMap<string, RunningPods>;

interface Access {
  readonly kube: KubeAccess;
  readonly options: AwsOptions & { readonly workload: KubeAccess | undefined };
}

/** Adds to each profile deletion the pods that run on the profile, or adds to `notes` why they are not known. */
export async function addPods(
  objects: readonly PlannedObject[],
  notes: string[],
  access: Access,
  io: Io,
): Promise<readonly ObjectWithPods[]> {
  const deleting = objects.filter(({ changes }) => changes.some(({ deletedProfile }) => deletedProfile !== undefined));
  const byCluster = Map.groupBy(deleting, (object) => clusterText(object));
  const read = new Map<string, PodsByProfile>();
  for (const [text, [object]] of byCluster) {
    const pods = await tolerate(io.signal, () => readPods(object, byCluster.size, access, io));
    if (isLeft(pods)) notes.push(`How many pods EKS stops in ${text} is not known: ${pods.left}`);
    else read.set(text, pods.right);
  }
  return objects.map((object) => ({
    ...object,
    changes: object.changes.map((change) => {
      if (change.deletedProfile === undefined) return change;
      return { ...change, pods: findPods(read.get(clusterText(object)), change.deletedProfile) };
    }),
  }));
}

/**
 * Returns `null` if the pods are not known. If the profile's name is not a valid label value, for example a name of 64
 * characters, no label identifies its pods.
 */
export const findPods = (pods: PodsByProfile | undefined, profile: string): RunningPods | null =>
  pods === undefined || !isLabelValue(profile) ? null : (pods.get(profile) ?? { running: 0, withoutOwner: [] });

const clusterText = ({ namespace, clusterName, eksCluster, region }: PlannedObject): string =>
  clusterName === undefined ? `EKS cluster ${eksCluster} in ${region}` : `Cluster ${namespace}/${clusterName}`;

/** `clusters` is the number of clusters in the plan. Only a plan of one cluster can use --workload-kubeconfig. */
async function readPods(
  object: PlannedObject | undefined,
  clusters: number,
  { kube, options }: Access,
  io: Io,
): Promise<PodsByProfile> {
  if (options.workload !== undefined && clusters > 1)
    throw new Failure('the plan has several clusters. Plan the objects of each cluster on their own');
  const { namespace = '', clusterName: name, eksCluster, region } = object ?? {};
  const target = { eksCluster, region, cluster: name === undefined ? undefined : { namespace, name } };
  await using workload = await openPodCluster(target, options, kube, io);
  const byProfile = Map.groupBy(await listFargatePods(workload.client, undefined, io.signal), profileOf);
  return new Map([...byProfile].map(([profile, pods]) => [profile, toRunningPods(pods)]));
}

const toRunningPods = (pods: readonly KubeObject[]): RunningPods => {
  const withoutOwner = pods.filter((pod) => ownerOf(pod) === null);
  return { running: pods.length, withoutOwner: withoutOwner.map((pod) => keyText(keyOf(pod))) };
};
