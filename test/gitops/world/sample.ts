import { readFileSync, readdirSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import type { Manifest } from '../../world/manifests.ts';

const SAMPLES = new URL('../../../config/samples/cluster/', import.meta.url);

/** The region of the sample cluster. */
export const SAMPLE_REGION = 'eu-central-1';
/** The name of the Cluster in config/samples/cluster. */
export const SAMPLE_CLUSTER = 'my-cluster';
export const SAMPLE_PROFILES = ['system', 'web'] as const;

/** An object in the folder from which the GitOps tool applies objects. */
export interface FolderObject extends Manifest {
  readonly spec?: Readonly<Record<string, unknown>>;
}

/**
 * The objects of config/samples/cluster: a Cluster with its AWSManagedCluster and AWSManagedControlPlane, and two
 * AWSFargateProfiles.
 */
export function sampleObjects(): readonly FolderObject[] {
  return readdirSync(SAMPLES).flatMap((file) =>
    parseAllDocuments(readFileSync(new URL(file, SAMPLES), 'utf8')).map((document) => document.toJS() as FolderObject),
  );
}

/** Returns the given objects except the AWSFargateProfile `name`. */
export const withoutProfile = (objects: readonly FolderObject[], name: string): readonly FolderObject[] =>
  objects.filter(({ kind, metadata }) => kind !== 'AWSFargateProfile' || metadata.name !== name);

/** Returns the given objects with one change: the AWSFargateProfile `name` gets the tag `team` with the given value. */
export const withTeam = (objects: readonly FolderObject[], name: string, team: string): readonly FolderObject[] =>
  objects.map((object) =>
    object.kind === 'AWSFargateProfile' && object.metadata.name === name
      ? { ...object, spec: { ...object.spec, additionalTags: { team } } }
      : object,
  );
