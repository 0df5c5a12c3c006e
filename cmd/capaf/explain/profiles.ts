import { keyOf, keyText } from 'controller-runtime/client';
import { parseTimestamp } from 'controller-runtime/env';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { recordOf } from '../../../controllers/shared/record.ts';
import { currentProfileNameOf } from '../../../controllers/shared/profile-names.ts';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { toSelectors } from '../../../pkg/fargate/selectors.ts';
import { Failure, type Io } from '../io.ts';
import { type KubeAccess, findEksCluster } from '../kube.ts';
import { decodeObjects, listObjects } from '../objects.ts';
import type { Profile } from './decide.ts';

type Objects = readonly AWSFargateProfile[];

/** Reads a Cluster's EKS cluster and AWSFargateProfiles from the management cluster. @throws Failure; KubeError */
export async function readManaged({ client, namespace }: KubeAccess, cluster: string, { signal }: Io) {
  const { name, region, controlPlane } = await findEksCluster(client, { namespace, name: cluster }, signal);
  if (region === undefined) throw new Failure(`${controlPlane} has no spec.region; set it`);
  const { objects, unreadable } = decodeObjects(await listObjects(client, { namespace, names: [] }, signal));
  return {
    target: { name, region },
    objects: objects.filter(({ spec }) => spec.clusterName === cluster),
    unreadable: unreadable.map((each) => `AWSFargateProfile ${each.name}: ${each.why}`),
  };
}

/** Adds facts from the objects to the profiles in EKS. If EKS does not answer, uses only the objects. */
export function mergeProfiles(objects: Objects, inEks: readonly FargateProfile[] | undefined): readonly Profile[] {
  if (inEks === undefined) return objects.flatMap((object) => [toProfile(object, undefined), ...inReplacement(object)]);
  const predecessors = new Set(objects.flatMap(({ status }) => status?.predecessors?.map(({ name }) => name) ?? []));
  const profiles = new Map<string, Profile>(
    inEks.map(({ name, status, selectors, createdAt }) => {
      const isPredecessor = predecessors.has(name);
      return [name, { name, status, selectors, createdAt, ...(isPredecessor && { isPredecessor }) }];
    }),
  );
  const ofObjects = objects.map((object): Profile => {
    // An object without status.profileARN has no profile yet, so a profile with its name belongs to another owner.
    const found = object.status?.profileARN === undefined ? undefined : profiles.get(currentProfileNameOf(object));
    if (found !== undefined) profiles.delete(found.name);
    return { ...toProfile(object, inEks), ...found };
  });
  return [...ofObjects, ...profiles.values()];
}

function toProfile(object: AWSFargateProfile, inEks: readonly FargateProfile[] | undefined): Profile {
  const { status = {}, spec } = object;
  const name = currentProfileNameOf(object);
  return {
    name,
    status: inEks === undefined ? (status.profileStatus ?? 'absent') : 'absent',
    selectors: inEks !== undefined || isSpecOfProfile(object) ? toSelectors(spec.selectors ?? []) : undefined,
    ...(status.activeSince !== undefined &&
      status.profileName === name && { activeSince: parseTimestamp(status.activeSince) }),
    object: keyText(keyOf(object)),
  };
}

/** Reports whether the profile in status has the spec's selectors, according to the controller's last reconcile. */
function isSpecOfProfile(object: AWSFargateProfile): boolean {
  const { metadata, status = {} } = object;
  if (status.profileARN === undefined) return true;
  const isDifferent = status.conditions?.some(({ reason }) => reason === 'SpecDiffers') === true;
  return metadata.generation === status.observedGeneration && successorsOf(object).length === 0 && !isDifferent;
}

/** Returns the profiles that the controller has requested, but that have not replaced the profile in status yet. */
const successorsOf = (object: AWSFargateProfile): readonly string[] =>
  recordOf(object).profiles.flatMap(({ name, served }) =>
    served === true || name === object.status?.profileName ? [] : [name],
  );

/**
 * Returns the other profiles of a replacement: successors, which have the selectors in the spec, and predecessors,
 * whose selectors only EKS knows.
 */
function inReplacement(object: AWSFargateProfile): readonly Profile[] {
  const { metadata, spec, status = {} } = object;
  const key = keyText(keyOf({ metadata }));
  const isObserved = metadata.generation === status.observedGeneration;
  const ofSpec = isObserved ? toSelectors(spec.selectors ?? []) : undefined;
  const { predecessors = [], profileName } = status;
  return [
    ...successorsOf(object).map((name) => ({ name, status: 'CREATING', selectors: ofSpec, object: key })),
    ...predecessors.flatMap(({ name, status: word = 'absent' }) =>
      name === undefined || name === profileName ? [] : [{ name, status: word, selectors: undefined, object: key }],
    ),
  ];
}
