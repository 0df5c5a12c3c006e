import * as E from 'fp-ts/lib/Either.js';
import type { EksClusterName } from '../../../api/names.ts';
import { type AWSFargateProfile, decodeAWSFargateProfile, describeProblems } from '../../../api/v1beta2/index.ts';
import { listLiveProfiles } from '../../../controllers/shared/live-profiles.ts';
import { currentProfileNameOf } from '../../../controllers/shared/profile-names.ts';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { parseTimestamp } from '../../../pkg/env/timestamp.ts';
import { toSelectors } from '../../../pkg/fargate/selectors.ts';
import { keyOf, keyText } from '../../../pkg/kube/object-key.ts';
import { type AwsAccess, Unseen, readProfiles } from '../aws.ts';
import { Failure, type Io } from '../io.ts';
import { type KubeAccess, findEksCluster } from '../kube.ts';
import type { Profile } from './decide.ts';

type Objects = readonly AWSFargateProfile[];

/** What the management cluster tells. @throws Failure; KubeError */
export async function readManaged({ client, namespace }: KubeAccess, cluster: string, { signal }: Io) {
  const { name, region, controlPlane } = await findEksCluster(client, { namespace, name: cluster }, signal);
  if (region === undefined) throw new Failure(`${controlPlane} has no spec.region; set it`);
  const objects: AWSFargateProfile[] = [];
  const unreadable: string[] = [];
  for await (const item of listLiveProfiles(client, { namespace }, signal)) {
    const result = decodeAWSFargateProfile(item);
    if (E.isLeft(result))
      unreadable.push(`AWSFargateProfile ${keyText(keyOf(item))}: ${describeProblems(result.left)}`);
    else if (result.right.spec.clusterName === cluster) objects.push(result.right);
  }
  return { target: { name, region }, objects, unreadable };
}

/** Another account than that of the objects may have an EKS cluster of the same name. @throws Unseen */
export async function readEks(aws: AwsAccess, name: EksClusterName, region: string, objects: Objects) {
  const session = await aws.open(region);
  const { account } = session;
  const recorded = objects.find(({ status }) => status?.account !== undefined)?.status?.account ?? account;
  if (recorded === account) return { session, profiles: await readProfiles(session, name) };
  const why = `the credentials are of account ${account}, but the profiles are in ${recorded}`;
  throw new Unseen(`${why}; --profile or --role-arn chooses others`);
}

/**
 * The profiles of the EKS cluster: those that EKS shows, with what the objects know about them, and those that only
 * objects name. Without an answer of EKS, the objects alone tell.
 */
export function mergeProfiles(objects: Objects, inEks: readonly FargateProfile[] | undefined): readonly Profile[] {
  const profiles = new Map<string, Profile>(
    inEks?.map(({ name, status, selectors, createdAt }) => [name, { name, status, selectors, createdAt }]),
  );
  const ofObjects = objects.map((object): Profile => {
    const name = currentProfileNameOf(object);
    const { status = {}, spec } = object;
    // An object without the ARN has no profile yet, and a profile of its name belongs to another owner.
    const found = status.profileARN === undefined ? undefined : profiles.get(name);
    if (found !== undefined) profiles.delete(name);
    return {
      name,
      status: inEks === undefined ? (status.profileStatus ?? 'absent') : 'absent',
      selectors: toSelectors(spec.selectors ?? []),
      ...found,
      ...(status.activeSince !== undefined &&
        status.profileName === name && { activeSince: parseTimestamp(status.activeSince) }),
      object: keyText(keyOf(object)),
    };
  });
  return [...ofObjects, ...profiles.values()];
}
