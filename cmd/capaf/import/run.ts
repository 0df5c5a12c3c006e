import * as E from 'fp-ts/lib/Either.js';
import { INSTANCE_GROUP_GROUP, INSTANCE_GROUP_PLURAL, INSTANCE_GROUP_VERSION } from '../../../api/external/index.ts';
import { ClusterName, EksClusterName } from '../../../api/names.ts';
import { errorMessage } from '../../../pkg/env/error-text.ts';
import { KubeError } from '../../../pkg/kube/errors.ts';
import { KubeconfigError } from '../../../pkg/kube/kubeconfig/kubeconfig.ts';
import { keyOf, keyText } from '../../../pkg/kube/object-key.ts';
import { type AwsAccess, openAws, openProfiles, whyUnseen } from '../aws.ts';
import { type SourceDocument, parseDocuments, readText } from '../documents.ts';
import { findEksCluster } from '../eks-cluster.ts';
import { type ExitCode, type Io, Failure, printJson, withProgress } from '../io.ts';
import { type KubeAccess, openKube } from '../kube.ts';
import type { CommonOptions } from '../program.ts';
import type { SourceProfile } from './facts.ts';
import { RELEASE, SOURCES } from './sources.ts';
import { type Lookup, type TakeOver, type Target, needsAttention, takeOver, toText } from './take-over.ts';

export type ImportSource = keyof typeof SOURCES;

export interface ImportOptions extends CommonOptions {
  readonly from: ImportSource;
  readonly cluster?: string;
  readonly eksCluster?: string;
}

/** Left: why there is no API server. Most imports need none. */
type OpenedKube = E.Either<unknown, KubeAccess>;

/** @throws Failure if a file is wrong, or if nothing can be read; KubeError, KubeconfigError */
export async function runImport(files: readonly string[], options: ImportOptions, io: Io): Promise<ExitCode> {
  const kube: OpenedKube = E.tryCatch(
    () => openKube(options, io),
    (error) => error,
  );
  const aws = openAws(options, io);
  try {
    const target = await findTarget(options, kube, io);
    const isListed = options.from === 'live' && files.length === 0;
    const sources: readonly SourceProfile[] = isListed
      ? await listLive(target, aws, io)
      : await readSources(files, options, kube, io);
    const completed = sources.map((source) => ({
      ...source,
      cluster: source.cluster ?? target.eksCluster,
      region: source.region ?? target.region ?? aws.region,
    }));
    const { here, elsewhere } = divide(completed, target);
    const names = objectNames(here);
    const all = await withProgress(io, `Asking EKS for ${here.length} Fargate profiles`, async () => {
      const done: TakeOver[] = [];
      for (const [index, source] of here.entries())
        done.push(takeOver(source, await lookUp(source, aws, io), target, names[index] ?? ''));
      return done;
    });
    const notes = [...target.notes, ...elsewhere];
    if (options.output === 'json') printJson(io, { notes, profiles: all });
    else io.out(toText(all, notes, io));
    const isNothingHere = all.length === 0 && elsewhere.length > 0;
    return isNothingHere || all.some(needsAttention) ? 2 : 0;
  } finally {
    await aws.close();
    if (E.isRight(kube)) await kube.right.close();
  }
}

/** Asks the management cluster for the EKS cluster of `--cluster`, unless `--eks-cluster` names it. */
async function findTarget(options: ImportOptions, kube: OpenedKube, io: Io): Promise<Target> {
  const { cluster, eksCluster, region } = options;
  const namespace = options.namespace ?? (E.isRight(kube) ? kube.right.namespace : 'default');
  const clusterName = cluster === undefined ? undefined : ClusterName.of(cluster);
  const target = { namespace, clusterName, eksCluster: undefined, region, notes: [] };
  if (eksCluster !== undefined) return { ...target, eksCluster: EksClusterName.of(eksCluster) };
  if (cluster === undefined)
    throw new Failure(
      'give --cluster, the Cluster of Cluster API; or --eks-cluster, if the EKS cluster has no Cluster',
    );
  const key = { namespace, name: cluster };
  const what = `Cluster ${keyText(key)}`;
  try {
    const { client } = orThrow(kube);
    const found = await withProgress(io, `Reading ${what}`, () => findEksCluster(client, key, io.signal));
    return { ...target, eksCluster: found.name, region: region ?? found.region };
  } catch (error) {
    if (!(error instanceof Failure || error instanceof KubeError || error instanceof KubeconfigError)) throw error;
    const note = `Check that the profiles are those of ${what}. Its EKS cluster is not known: ${errorMessage(error)}`;
    return { ...target, notes: [note] };
  }
}

function orThrow(kube: OpenedKube): KubeAccess {
  if (E.isLeft(kube)) throw kube.left;
  return kube.right;
}

async function readSources(files: readonly string[], { from }: ImportOptions, kube: OpenedKube, io: Io) {
  const { read, wanted } = SOURCES[from];
  if (files.length === 0 && from !== 'keiko') throw new Failure(`give a FILE with ${wanted}, or - for standard input`);
  const documents: SourceDocument[] = files.length === 0 ? [...(await readInstanceGroups(orThrow(kube), io))] : [];
  for (const path of files) {
    const { file, text } = await readText(path, io);
    for (const document of parseDocuments(file, text)) documents.push(document);
  }
  const sources = documents.flatMap(read);
  const places = files.join(', ') || 'the management cluster';
  if (sources.length === 0) throw new Failure(`${places}: no Fargate profile; --from ${from} reads ${wanted}`);
  return sources;
}

/** Those of all namespaces, because the new objects need not be in the namespace of the groups. */
async function readInstanceGroups({ client, server }: KubeAccess, io: Io): Promise<readonly SourceDocument[]> {
  const resource = { group: INSTANCE_GROUP_GROUP, version: INSTANCE_GROUP_VERSION, plural: INSTANCE_GROUP_PLURAL };
  const list = () => client.list(resource, { signal: io.signal });
  const { items } = await withProgress(io, `Listing InstanceGroups at ${server}`, list);
  return items.map((value) => ({ file: server, value, at: () => `${keyText(keyOf(value))} at ${server}` }));
}

/** Only the names, because all else comes from AWS later. */
async function listLive({ eksCluster: cluster, region: wanted, notes }: Target, aws: AwsAccess, io: Io) {
  const region = wanted ?? aws.region;
  if (cluster === undefined) throw new Failure([...notes, 'give --eks-cluster too'].join('; '));
  if (region === undefined) throw new Failure('the AWS region is not known; give --region');
  const list = openProfiles(aws, region, io).list(cluster);
  const listed = await withProgress(io, `Listing the Fargate profiles of EKS cluster ${cluster} in ${region}`, list);
  if (E.isLeft(listed)) throw new Failure(whyUnseen(listed.left, 'eks:ListFargateProfiles'));
  if (listed.right.kind === 'clusterGone')
    throw new Failure(
      `AWS has no EKS cluster ${cluster} in ${region}; check --region, and the account of the credentials`,
    );
  const facts = { source: 'AWS', cluster, region, tags: {}, unknown: [], release: [RELEASE] };
  return listed.right.names.map((name) => ({ ...facts, name }));
}

async function lookUp({ cluster, region, name }: SourceProfile, aws: AwsAccess, io: Io): Promise<Lookup> {
  if (cluster === undefined || region === undefined || name === undefined)
    return { kind: 'unseen', why: 'EKS cluster, region and name of the profile are not all known' };
  const described = await openProfiles(aws, region, io).describe(cluster, name)();
  if (E.isRight(described)) return described.right;
  return { kind: 'unseen', why: whyUnseen(described.left, 'eks:DescribeFargateProfile') };
}

/** The profiles of the EKS cluster that the options name, and a note about each other profile. */
function divide(sources: readonly SourceProfile[], { eksCluster, region }: Target) {
  const clusters = [...new Set(sources.flatMap(({ cluster }) => cluster ?? []))];
  if (eksCluster === undefined && clusters.length > 1)
    throw new Failure(`the profiles are in the EKS clusters ${clusters.join(', ')}; choose one with --eks-cluster too`);
  const isHere = (source: SourceProfile): boolean =>
    (eksCluster === undefined || source.cluster === eksCluster) && (region === undefined || source.region === region);
  const note = (source: SourceProfile): string =>
    `Left out: Fargate profile ${source.name ?? 'of unknown name'} of EKS cluster ${source.cluster} in ${source.region}, ${source.source}`;
  const elsewhere = sources.filter((source) => !isHere(source)).map(note);
  return { here: sources.filter(isHere), elsewhere };
}

/** DNS names, each once, from names that may have upper case and underscores. */
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
