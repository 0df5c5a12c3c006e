import { expect } from 'chai';
import { setTimeout as delay } from 'node:timers/promises';
import type { ProfileView } from '../../aws/admin/views.ts';
import type { RawObject } from '../../envtest/clients/api.ts';
import { eventually } from '../../support/eventually.ts';
import { type Calls, callsFromNow, profileMutations } from '../../world/aws/calls.ts';
import { type World, pathOf } from '../../world/world.ts';

export const FINALIZER = 'awsfargateprofile.infrastructure.cluster.x-k8s.io';
export const TAKE_OVER = 'aws-fargate.cluster.x-k8s.io/take-over';
export const RECORD = 'aws-fargate.cluster.x-k8s.io/record';
const OWNER_TAG = 'sigs.k8s.io/cluster-api-provider-aws-fargate/owner';

/** Makes the manager compare each object with AWS all the time. */
export const EAGER = { flags: ['--sync-period', '500ms'] };
export const REPLACE = { updateStrategy: { type: 'Replace' } };
export const FIRST = { selectors: [{ namespace: 'first' }] };
export const OTHER = { selectors: [{ namespace: 'other' }] };
export const THIRD = { selectors: [{ namespace: 'third' }] };

/** Returns the object as a backup of the management cluster contains it. */
export async function backUp(world: World, name: string): Promise<RawObject> {
  return (await world.profile(name)) ?? expect.fail(`there is no object ${name}`);
}

/** Removes an object while no manager runs, as the loss of a management cluster does. */
export async function lose(world: World, name: string): Promise<void> {
  await world.patch(name, { metadata: { finalizers: null } });
  if ((await world.profile(name)) !== undefined) await world.delete(name);
  await world.gone(name);
}

/** Creates the object of a backup again, while no manager of this management cluster runs. */
export async function restore(
  world: World,
  { apiVersion, kind, metadata, spec, status }: RawObject,
  over: { readonly spec?: object; readonly annotations?: object; readonly hasStatus?: boolean } = {},
): Promise<void> {
  const { name, namespace = 'default', labels, annotations, finalizers } = metadata;
  await world.apply({
    apiVersion,
    kind,
    metadata: { name, namespace, labels, annotations: over.annotations ?? annotations, finalizers },
    spec: { ...spec, ...over.spec },
  });
  if (over.hasStatus !== false)
    await world.controlPlane.api.patch(`${pathOf(name, namespace)}/status`, { status: status ?? {} });
}

/** The Fargate profiles in AWS that belong to an object. */
export const profilesOf = ({ aws }: World, name: string): readonly ProfileView[] =>
  aws.admin.profiles().filter(({ tags }) => tags[OWNER_TAG] === `default/${name}`);

export const namesOf = (world: World, name: string): readonly string[] =>
  profilesOf(world, name).map((each) => each.name);

export const idOf = ({ arn }: ProfileView): string => arn.split('/').at(-1) ?? '';

/** Returns a function that lists what the manager has since created and deleted in EKS for an object. */
export function changesFromNow({ aws }: World, name: string): () => readonly string[] {
  const calls: Calls = callsFromNow(aws, `default_${name}`);
  return () => profileMutations(calls);
}

export async function change(world: World, name: string, spec: object): Promise<void> {
  await world.patch(name, { spec });
}

/** Waits until the object is Ready and the profile that replaces the former profile is its only one. */
export async function replaced(world: World, name: string): Promise<void> {
  const isOver = (): boolean => namesOf(world, name).every((each) => each.startsWith('9999-'));
  await eventually(isOver, { what: `the end of the replacement of ${name}` });
  const { metadata } = await backUp(world, name);
  await world.condition(
    name,
    'Ready',
    { status: 'True', reason: 'Ready' },
    metadata.generation === undefined ? {} : { generation: metadata.generation },
  );
}

/** Waits long enough for a few comparisons with AWS, so that the test notices if one of them changes something. */
export const severalComparisons = (): Promise<void> => delay(3_000);
