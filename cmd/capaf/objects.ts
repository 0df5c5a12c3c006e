import * as E from 'fp-ts/lib/Either.js';
import { keyOf, keyText, type KubeClient, type KubeObject, listAll } from 'controller-runtime/client';
import { type AWSFargateProfile, KIND, decodeAWSFargateProfile, describeProblems } from '../../api/v1beta2/index.ts';
import { PROFILES } from '../../controllers/shared/live-profiles.ts';
import { Failure } from './io.ts';

/** Selects AWSFargateProfiles: all if `names` is empty, and in all namespaces if `namespace` is undefined. */
export interface Scope {
  readonly namespace: string | undefined;
  readonly names: readonly string[];
}

export const CHOOSE_OBJECTS = 'choose the namespace with -n, all with -A, or a --context';

/** @throws Failure if the user has named objects and also asked for all namespaces */
export function requireOneNamespace(names: readonly string[], allNamespaces = false): void {
  if (names.length > 0 && allNamespaces)
    throw new Failure('the objects with these names are in one namespace; name it with -n instead of -A');
}

/**
 * Returns all AWSFargateProfiles in the namespace, even if the user has named only some of them.
 *
 * @throws Failure if an object that the user has named does not exist; KubeError
 */
export async function listObjects(client: KubeClient, { namespace, names }: Scope, signal: AbortSignal) {
  const objects = await listAll(client, PROFILES, { namespace }, signal);
  const missing = names.find((name) => !objects.some(({ metadata }) => metadata.name === name));
  if (missing !== undefined) throw new Failure(`there is no ${KIND} ${namespace}/${missing}; ${CHOOSE_OBJECTS}`);
  return objects;
}

/** The AWS account in which the controller has found the objects' EKS cluster. */
export const recordedAccount = (objects: readonly AWSFargateProfile[]): string | undefined =>
  objects.find(({ status }) => status?.account !== undefined)?.status?.account;

/** `unreadable` contains the namespace and name of each object that cannot be decoded, and why. */
export function decodeObjects(items: readonly KubeObject[]) {
  const objects: AWSFargateProfile[] = [];
  const unreadable: { readonly name: string; readonly why: string }[] = [];
  for (const item of items) {
    const object = decodeAWSFargateProfile(item);
    if (E.isRight(object)) objects.push(object.right);
    else unreadable.push({ name: keyText(keyOf(item)), why: describeProblems(object.left) });
  }
  return { objects, unreadable };
}
