import { Document, visit } from 'yaml';
import type { ClusterName, EksClusterName } from '../../../api/names.ts';
import { API_VERSION, KIND, PAUSED_ANNOTATION } from '../../../api/v1beta2/index.ts';
import type { FargateProfile, ProfileLookup } from '../../../pkg/cloud/index.ts';
import { escapeHidden, hasHidden, toPrintableLine } from '../../../pkg/env/printable.ts';
import { parseRoleArn } from '../../../pkg/fargate/arns.ts';
import { describeDifferentFields } from '../../../pkg/fargate/differences.ts';
import { profileOwnership } from '../../../pkg/fargate/ownership.ts';
import {
  CLUSTER_TAG_PREFIX,
  OWNER_TAG,
  type Tags,
  keepCase,
  sortedEntries,
  tagValue,
} from '../../../pkg/fargate/tags/tag-keys.ts';
import { MAX_TAGS, validateTag } from '../../../pkg/fargate/tags/tag-limits.ts';
import { type Io, paint } from '../io.ts';
import { type SourceProfile, shellQuoted } from './facts.ts';

/** What the options say about the new objects, and about the EKS cluster of the profiles. */
export interface Target {
  readonly namespace: string;
  /** `undefined`: the objects name the EKS cluster instead. */
  readonly clusterName: ClusterName | undefined;
  /** `undefined`: any; the sources tell. */
  readonly eksCluster: EksClusterName | undefined;
  readonly region: string | undefined;
  /** What could not be found out. */
  readonly notes: readonly string[];
}

/** What AWS says about a profile. `unseen`: AWS was not asked, or did not answer. */
export type Lookup = ProfileLookup | { readonly kind: 'unseen'; readonly why: string };

const VERDICTS = {
  equal: 'equal to AWS',
  differs: 'different from AWS',
  unseen: 'not compared with AWS',
  claimed: 'claimed by another owner',
  owned: 'left out because an AWSFargateProfile has it',
  absent: 'left out because AWS does not have it',
  incomplete: 'left out because not all is known',
} as const;

/** An element of the output in JSON. */
export interface TakeOver {
  readonly profile: string | undefined;
  readonly eksCluster: string | undefined;
  readonly region: string | undefined;
  readonly source: string;
  readonly verdict: keyof typeof VERDICTS;
  readonly notes: readonly string[];
  /** In an order in which no owner deletes the profile. */
  readonly steps: readonly string[];
  readonly manifest?: object;
}

/** The user has to decide something, or to look at AWS. */
export const needsAttention = ({ verdict }: TakeOver): boolean =>
  ['differs', 'claimed', 'absent', 'incomplete'].includes(verdict);

/** `name` is the name of the new object. */
export function takeOver(source: SourceProfile, lookup: Lookup, target: Target, name: string): TakeOver {
  const { cluster: eksCluster, region, name: profile } = source;
  const facts = { profile, eksCluster, region, source: source.source };
  const unseen = lookup.kind === 'unseen' ? [`AWS was not seen: ${lookup.why}`] : [];
  const leaveOut = (verdict: TakeOver['verdict'], ...notes: readonly string[]) => {
    return { ...facts, verdict, notes, steps: [] };
  };
  if (lookup.kind === 'clusterGone')
    return leaveOut('absent', 'AWS has no such EKS cluster: check the region, and the account of the credentials');
  if (lookup.kind === 'absent') return leaveOut('absent', 'There is nothing to take over');
  const found = lookup.kind === 'found' ? withValuesOfAws(source, lookup.profile) : source;
  const owner = tagValue(found.tags, OWNER_TAG, keepCase);
  if (owner !== undefined) return leaveOut('owned', `It belongs to AWSFargateProfile ${owner} (tag ${OWNER_TAG})`);
  const missing = [
    ...(profile === undefined ? ['the name of the profile'] : []),
    ...(found.selectors === undefined ? ['the selectors'] : []),
    ...(found.roleARN === undefined && found.roleName === undefined ? ['the role'] : []),
    ...(eksCluster === undefined && target.clusterName === undefined ? ['the EKS cluster'] : []),
  ];
  if (missing.length > 0 || profile === undefined)
    return leaveOut(
      'incomplete',
      `Not known: ${missing.join(', ')}`,
      ...source.unknown,
      ...unseen,
      'Cure: AWS credentials, --eks-cluster and --region; or --from live, which reads all profiles of an EKS cluster',
    );

  const { namespace, clusterName } = target;
  const ownership = profileOwnership(
    { name: profile, tags: found.tags },
    { namespace, name, clusterName, adoptable: { profile } },
  );
  const isClaimed = ownership.kind === 'foreign' && ownership.claimed;
  const isInAws = lookup.kind === 'found';
  const differences = isInAws ? describeDifferences(source, lookup.profile) : [];
  const { usualDifference = [] } = source;
  const claim = isClaimed
    ? `The controller would not adopt it, because it belongs to ${ownership.whose}. Give --cluster if that is its Cluster, or remove the tag`
    : [];
  return {
    ...facts,
    verdict: isClaimed ? 'claimed' : !isInAws ? 'unseen' : differences.length > 0 ? 'differs' : 'equal',
    notes: [
      claim,
      differences.length > 0 ? ['The manifest has the values of AWS', ...differences, usualDifference].flat() : [],
      unseen,
      isInAws ? [] : ['The manifest has the values of the source', ...source.unknown],
    ].flat(),
    steps: stepsOf(found, target, name, isInAws),
    manifest: toManifest(found, target, name),
  };
}

const withValuesOfAws = (source: SourceProfile, profile: FargateProfile): SourceProfile => ({
  ...source,
  roleARN: profile.podExecutionRoleArn,
  roleName: undefined,
  selectors: profile.selectors,
  subnetIDs: profile.subnets,
  tags: profile.tags,
});

/** Most owners set more tags than the source names, so only tags that AWS lacks count. */
function describeDifferences(source: SourceProfile, profile: FargateProfile): readonly string[] {
  const { selectors, subnetIDs: subnets, roleARN: roleArn, tags } = source;
  const inAws = (key: string): string | undefined => tagValue(profile.tags, key, keepCase);
  return [
    ...(profile.status === 'ACTIVE' ? [] : [`the status is ${profile.status} in AWS, and not ACTIVE`]),
    ...describeDifferentFields(profile, { selectors, subnets, roleArn }, 'the source'),
    ...sortedEntries(tags)
      .filter(([key, value]) => inAws(key) !== value)
      .map(([key, value]) => `tag ${key} is ${inAws(key) ?? 'absent'} in AWS, but ${value} in the source`),
  ];
}

/** Neither YAML nor JSON prints the fields that are `undefined`. */
const toManifest = (found: SourceProfile, { namespace, clusterName }: Target, name: string): object => ({
  apiVersion: API_VERSION,
  kind: KIND,
  metadata: { name, namespace, annotations: { [PAUSED_ANNOTATION]: 'true' } },
  spec: {
    clusterName,
    eksCluster: clusterName === undefined ? { name: found.cluster, region: found.region } : undefined,
    profileName: found.name,
    roleARN: found.roleARN,
    roleName: found.roleName,
    selectors: found.selectors?.map(({ namespace: pods, labels }) => ({ namespace: pods, labels: orAbsent(labels) })),
    subnetIDs: found.subnetIDs,
    additionalTags: orAbsent(assignableTags(found.tags)),
    adoptionPolicy: 'Always',
  },
});

const orAbsent = (map: Tags): Tags | undefined => (Object.keys(map).length === 0 ? undefined : map);

/** Reserved for AWS and for controllers. Such tags stay on the profile, but spec.additionalTags may not have them. */
const RESERVED = [CLUSTER_TAG_PREFIX, OWNER_TAG.slice(0, OWNER_TAG.lastIndexOf('/') + 1)];
/** The controller adds up to three, and AWS allows 50. */
const MAX_ADDITIONAL_TAGS = MAX_TAGS - 3;

const assignableTags = (tags: Tags): Tags =>
  Object.fromEntries(
    sortedEntries(tags)
      .filter(([key, value]) => validateTag({ key, value, source: 'AWS' }).length === 0)
      .filter(([key]) => !RESERVED.some((prefix) => key.toLowerCase().startsWith(prefix)))
      .slice(0, MAX_ADDITIONAL_TAGS),
  );

function stepsOf(found: SourceProfile, target: Target, name: string, isCompared: boolean): readonly string[] {
  const { name: profile = '', cluster = 'CLUSTER', region = 'REGION', roleARN = '' } = found;
  const { namespace, clusterName } = target;
  const place = `${parseRoleArn(roleARN)?.account ?? 'ACCOUNT'}/${region}/${cluster}`;
  // A control plane names the EKS cluster and the region, and anyone may have written it.
  const [ofRegion = '', ofCluster = '', ofProfile = ''] = [region, cluster, profile].map(shellQuoted);
  const describe = `aws eks describe-fargate-profile --region ${ofRegion} --cluster-name ${ofCluster} --fargate-profile-name ${ofProfile}`;
  return [
    ...found.release,
    ...(clusterName === undefined
      ? [`Give the manager the flag ${shellQuoted(`--allow-eks-cluster=${namespace}=${place}`)}`]
      : []),
    'Apply this manifest. It is paused, so the controller does nothing yet',
    ...(isCompared ? [] : [`Compare it with AWS, because the controller adopts only what is equal: ${describe}`]),
    `Let the controller adopt the profile. It adds its tags, and changes nothing else: kubectl -n ${namespace} annotate awsfargateprofile ${name} ${PAUSED_ANNOTATION}-`,
  ];
}

/** Manifests in YAML, and comments. */
export function toText(all: readonly TakeOver[], notes: readonly string[], io: Pick<Io, 'isColored'>): string {
  const counts = Object.entries(VERDICTS).flatMap(([verdict, words]) => {
    const count = all.filter((each) => each.verdict === verdict).length;
    return count === 0 ? [] : [`${count} ${words}`];
  });
  const summary = `${all.length} Fargate ${all.length === 1 ? 'profile' : 'profiles'}: ${counts.join('; ') || 'nothing to import'}`;
  const hasManifest = all.some(({ manifest }) => manifest !== undefined);
  const keep = 'An adopted profile goes with its object, unless spec.deletionPolicy is Retain';
  const header = [summary, ...notes, ...(hasManifest ? [keep] : [])];
  return [...header.map(comment), ...all.flatMap((each) => linesOf(each, io))].join('');
}

function linesOf(each: TakeOver, io: Pick<Io, 'isColored'>): readonly string[] {
  const { profile, eksCluster, region, source, verdict, notes, steps, manifest } = each;
  const place = [eksCluster && ` of EKS cluster ${eksCluster}`, region && ` in ${region}`].join('');
  const title = comment(`Fargate profile ${profile ?? 'of unknown name'}${place}: ${VERDICTS[verdict]}`);
  return [
    manifest === undefined ? '\n' : '---\n',
    paint(io, needsAttention(each) ? 'yellow' : 'bold', title),
    comment(`Source: ${source}`),
    ...notes.map((note) => comment(`- ${note}`)),
    ...(steps.length > 0 ? [comment('To take it over:')] : []),
    ...steps.map((step, index) => comment(`${index + 1}. ${step}`)),
    manifest === undefined ? '' : toYaml(manifest),
  ];
}

const comment = (line: string): string => `# ${toPrintableLine(line)}\n`;

function toYaml(manifest: object): string {
  // kubectl reads YAML 1.1, in which for example `yes` is no text.
  const document = new Document(manifest, { compat: 'yaml-1.1', aliasDuplicateObjects: false });
  visit(document, {
    Scalar: (_, scalar) => {
      if (typeof scalar.value === 'string' && hasHidden(scalar.value)) scalar.type = 'QUOTE_DOUBLE';
    },
  });
  return escapeHidden(document.toString({ lineWidth: 0 }));
}
