import * as E from 'fp-ts/lib/Either.js';
import { ClusterName, EksClusterName } from '../../../api/names.ts';
import { areSelectorsEqual } from '../../../pkg/fargate/selectors.ts';
import { type AwsAccess, Unseen, attempt, listProfiles, openAws, readProfiles, requireRegion, seen } from '../aws.ts';
import { readDocuments } from '../documents.ts';
import { type ExitCode, type Io, Failure, tell } from '../io.ts';
import { findEksCluster, openKube } from '../kube.ts';
import { listFiles } from '../plan/manifests.ts';
import type { CommonOptions } from '../program.ts';
import type { SourceProfile } from './facts.ts';
import { RELEASE, SOURCES } from './sources.ts';
import { type Lookup, type Target, needsAttention, takeOver, toText } from './take-over.ts';

export type ImportSource = keyof typeof SOURCES;

export interface ImportOptions extends CommonOptions {
  readonly from?: ImportSource;
  readonly filename?: readonly string[];
  readonly cluster?: string;
  readonly eksCluster?: string;
}

export async function runImport(names: readonly string[], options: ImportOptions, io: Io): Promise<ExitCode> {
  const { from, filename = [] } = options;
  if (from === undefined)
    throw new Failure(`give --from, what has the profiles now: ${Object.keys(SOURCES).join(', ')}`);
  const files = [...names, ...filename];
  await using aws = openAws(options, io);
  const target = await findTarget(options, io);
  const isListed = from === 'live' && files.length === 0;
  const sources = isListed ? await listLive(target, aws) : await readSources(files, from, io);
  const completed = sources.map((source): SourceProfile => ({
    ...source,
    cluster: source.cluster ?? target.eksCluster,
    region: source.region ?? target.region ?? aws.region,
  }));
  const { here, notes } = divide(completed, target);
  const named = await findNames(here, aws);
  const ofObjects = objectNames(named);
  const profiles = await Promise.all(
    named.map(async (each, index) => takeOver(each, await lookUp(each, aws), target, ofObjects[index] ?? '')),
  );
  const isNothingHere = profiles.length === 0 && notes.length > 0;
  const isFine = !isNothingHere && !profiles.some(needsAttention);
  return tell(io, options, { notes, profiles }, toText(profiles, notes), isFine);
}

async function findTarget(options: ImportOptions, io: Io): Promise<Target> {
  const { cluster, eksCluster, region, namespace } = options;
  if (namespace === undefined) throw new Failure('give -n, the namespace of the objects');
  for (const [option, value] of Object.entries({ '-n': namespace, '--cluster': cluster }))
    if (value !== undefined && !/^[a-z0-9][-a-z0-9.]{0,252}$/.test(value))
      throw new Failure(`${option}: no namespace and no Cluster can have the name ${JSON.stringify(value)}`);
  const clusterName = cluster === undefined ? undefined : ClusterName.of(cluster);
  if (eksCluster !== undefined) return { namespace, clusterName, eksCluster: EksClusterName.of(eksCluster), region };
  if (cluster === undefined)
    throw new Failure(
      'give --cluster, the Cluster of Cluster API; or --eks-cluster, if the EKS cluster has no Cluster',
    );
  await using kube = openKube(options, io);
  const found = await findEksCluster(kube.client, { namespace, name: cluster }, io.signal);
  return { namespace, clusterName, eksCluster: found.name, region: region ?? found.region };
}

async function readSources(files: readonly string[], from: ImportSource, io: Io) {
  const { read, wanted } = SOURCES[from];
  if (files.length === 0) throw new Failure(`give a FILE with ${wanted}, or - for standard input`);
  const paths = (await Array.fromAsync(files, listFiles)).flat();
  const documents = await Array.fromAsync(paths, (file) => readDocuments(file, io));
  const sources = documents.flat().flatMap(read);
  if (sources.length === 0)
    throw new Failure(`${files.join(', ')}: no Fargate profile; --from ${from} reads ${wanted}`);
  return sources;
}

/** Lists only the names, because everything else is read from AWS later. */
async function listLive(target: Target, aws: AwsAccess): Promise<readonly SourceProfile[]> {
  const cluster = target.eksCluster;
  const region = requireRegion(target.region ?? aws.region);
  const names = await listProfiles(await aws.open(region), cluster);
  const facts = { source: 'AWS', cluster, region, tags: {}, release: [RELEASE] };
  return names.map((name) => ({ ...facts, name }));
}

/** CloudFormation sets this tag. */
const LOGICAL_ID_TAG = 'aws:cloudformation:logical-id';

/**
 * Finds the names of profiles whose template leaves the name to CloudFormation. Among the profiles in EKS that no other
 * source names, takes the only one with CloudFormation's tag, or else the only one with the same selectors.
 */
async function findNames(sources: readonly SourceProfile[], aws: AwsAccess): Promise<readonly SourceProfile[]> {
  const used = new Set(sources.map(({ name }) => name));
  return Array.fromAsync(sources, async (source) => {
    const { cluster, region, name, logicalId, selectors } = source;
    if (name !== undefined || cluster === undefined || region === undefined) return source;
    const listed = await attempt(async () => readProfiles(await aws.open(region), cluster));
    const free = E.isRight(listed) ? listed.right.filter((each) => !used.has(each.name)) : [];
    const tagged = free.filter(({ tags }) => logicalId !== undefined && tags[LOGICAL_ID_TAG] === logicalId);
    const equal = free.filter((each) => selectors !== undefined && areSelectorsEqual(each.selectors, selectors));
    const [candidates = []] = [tagged, equal].filter(({ length }) => length > 0);
    const [found] = candidates.length === 1 ? candidates : [];
    if (found === undefined) return source;
    used.add(found.name);
    return { ...source, name: found.name };
  });
}

const lookUp = ({ cluster, region, name }: SourceProfile, aws: AwsAccess): Promise<Lookup> =>
  attempt(async () => {
    if (cluster === undefined || region === undefined || name === undefined)
      throw new Unseen('EKS cluster, region, and name of the profile are not all known');
    return seen((await aws.open(region)).profiles.describe(cluster, name));
  });

/** Separates the profiles of the EKS cluster in the options from all others, for which it returns notes. */
function divide(sources: readonly SourceProfile[], { eksCluster, region }: Target) {
  const isHere = (source: SourceProfile): boolean =>
    source.cluster === eksCluster && (region === undefined || source.region === region);
  const note = (source: SourceProfile): string =>
    `Left out: Fargate profile ${source.name ?? 'of unknown name'} of EKS cluster ${source.cluster} in ${source.region}, ${source.source}`;
  return { here: sources.filter(isHere), notes: sources.filter((source) => !isHere(source)).map(note) };
}

/** Turns names of profiles, which can contain upper case and underscores, into unique names of objects. */
export function objectNames(sources: readonly Pick<SourceProfile, 'name'>[]): readonly string[] {
  const used = new Set<string>();
  const counts = new Map<string, number>();
  return sources.map(({ name = '' }) => {
    const words = name.toLowerCase().split(/[^a-z0-9]+/);
    const plain = words.filter((word) => word !== '').join('-') || 'profile';
    let unique = plain;
    let count = counts.get(plain) ?? 1;
    while (used.has(unique)) unique = `${plain}-${(count += 1)}`;
    counts.set(plain, count);
    used.add(unique);
    return unique;
  });
}
