import * as E from 'fp-ts/lib/Either.js';
import { stringify } from 'yaml';
import { escapeHidden, hasHidden, shellCommand, toPrintableLine } from 'controller-runtime/text';
import type { ClusterName, EksClusterName } from '../../../api/names.ts';
import { API_VERSION, KIND, MAX_ADDITIONAL_TAGS, PAUSED_ANNOTATION } from '../../../api/v1beta2/index.ts';
import type { FargateProfile, ProfileLookup } from '../../../pkg/cloud/index.ts';
import { parseRoleArn } from '../../../pkg/fargate/arns.ts';
import { describeDifferentFields } from '../../../pkg/fargate/differences.ts';
import * as tagKeys from '../../../pkg/fargate/tags/tag-keys.ts';
import { validateTag } from '../../../pkg/fargate/tags/tag-limits.ts';
import type { Answer } from '../aws.ts';
import type { SourceProfile } from './facts.ts';

/** From the command's options: where the new objects are created, and the EKS cluster of the profiles. */
export interface Target {
  readonly namespace: string;
  /** If `undefined`, the objects set spec.eksCluster instead. */
  readonly clusterName: ClusterName | undefined;
  readonly eksCluster: EksClusterName;
  /** If `undefined`, the region comes from the sources. */
  readonly region: string | undefined;
}

export type Lookup = Answer<ProfileLookup>;

const VERDICTS = {
  equal: 'equal to AWS',
  differs: 'different from AWS',
  unseen: 'not compared with AWS',
  owned: 'left out because an AWSFargateProfile has it',
  absent: 'left out because AWS does not have it',
  incomplete: 'left out because not all is known',
} as const;

/** In the shape of `-o json`. */
interface TakeOver {
  readonly profile: string | undefined;
  readonly eksCluster: string | undefined;
  readonly region: string | undefined;
  readonly source: string;
  readonly verdict: keyof typeof VERDICTS;
  readonly notes: readonly string[];
  /** In an order in which neither the former owner nor the controller deletes the profile. */
  readonly steps: readonly string[];
  readonly manifest?: object;
}

/** Whether the user has to decide something, or to check AWS. */
export const needsAttention = ({ verdict }: TakeOver): boolean => ['differs', 'absent', 'incomplete'].includes(verdict);

/** `name` is the name of the new object. */
export function takeOver(source: SourceProfile, lookup: Lookup, target: Target, name: string): TakeOver {
  const { cluster: eksCluster, region, name: profile } = source;
  const result = (verdict: TakeOver['verdict'], ...notes: readonly string[]) => {
    return { profile, eksCluster, region, source: source.source, verdict, notes, steps: [] };
  };
  const inAws = E.isRight(lookup) && lookup.right.kind === 'found' ? lookup.right.profile : undefined;
  if (inAws === undefined && E.isRight(lookup)) {
    const wrongPlace = 'AWS has no such EKS cluster: check the region, and the account of the credentials';
    return result('absent', lookup.right.kind === 'clusterGone' ? wrongPlace : 'There is nothing to take over');
  }
  const found = inAws === undefined ? source : withValuesOfAws(source, inAws);
  const owner = tagKeys.tagValue(found.tags, tagKeys.OWNER_TAG, tagKeys.keepCase);
  if (owner !== undefined)
    return result('owned', `It belongs to AWSFargateProfile ${owner} (tag ${tagKeys.OWNER_TAG})`);
  const unseen = E.isLeft(lookup) ? [`AWS was not seen: ${lookup.left}`] : [];
  const needed = {
    'the name of the profile': profile,
    'the selectors': found.selectors,
    'the role': found.roleARN,
  };
  const missing = Object.entries(needed).flatMap(([what, value]) => (value === undefined ? [what] : []));
  const isUnknown = `Not known: ${missing.join(', ')}`;
  if (profile === undefined)
    return { ...result('incomplete', isUnknown, ...unseen), steps: stepsByHand(source, target) };
  if (missing.length > 0)
    return result('incomplete', isUnknown, ...unseen, 'Run capaf again with AWS credentials, and with --region');

  const made = { steps: stepsOf(found, target, name), manifest: toManifest(found, target, name) };
  if (inAws === undefined) {
    const untold = found.subnetIDs === undefined ? ', which does not name the subnets' : '';
    return { ...result('unseen', ...unseen, `The manifest has the values of the source${untold}`), ...made };
  }
  const differences = describeDifferences(source, inAws);
  if (differences.length === 0) return { ...result('equal'), ...made };
  return { ...result('differs', 'The manifest has the values of AWS', ...differences), ...made };
}

const withValuesOfAws = (source: SourceProfile, profile: FargateProfile): SourceProfile => ({
  ...source,
  roleARN: profile.podExecutionRoleArn,
  selectors: profile.selectors,
  subnetIDs: profile.subnets,
  tags: profile.tags,
});

/** Ignores tags that only AWS has, because most tools set more tags than their manifests contain. */
function describeDifferences(source: SourceProfile, profile: FargateProfile): readonly string[] {
  const { selectors, subnetIDs: subnets, roleARN: roleArn, tags } = source;
  const inAws = (key: string): string | undefined => tagKeys.tagValue(profile.tags, key, tagKeys.keepCase);
  return [
    ...(profile.status === 'ACTIVE' ? [] : [`the status is ${profile.status} in AWS, and not ACTIVE`]),
    ...describeDifferentFields(profile, { selectors, subnets, roleArn }, 'in the source'),
    ...tagKeys
      .sortedEntries(tags)
      .filter(([key, value]) => inAws(key) !== value)
      .map(([key, value]) => `tag ${key} is ${inAws(key) ?? 'absent'} in AWS, but ${value} in the source`),
  ];
}

/** Fields may be `undefined`. YAML and JSON omit them. */
const toManifest = (found: SourceProfile, { namespace, clusterName }: Target, name: string): object => ({
  apiVersion: API_VERSION,
  kind: KIND,
  metadata: { name, namespace, annotations: { [PAUSED_ANNOTATION]: 'true' } },
  spec: {
    clusterName,
    eksCluster: clusterName === undefined ? { name: found.cluster, region: found.region } : undefined,
    profileName: found.name,
    roleARN: found.roleARN,
    selectors: found.selectors?.map(({ namespace: pods, labels }) => ({ namespace: pods, labels: orAbsent(labels) })),
    subnetIDs: found.subnetIDs,
    additionalTags: orAbsent(assignableTags(found.tags)),
    adoptionPolicy: 'Always',
  },
});

const orAbsent = (map: tagKeys.Tags): tagKeys.Tags | undefined => (Object.keys(map).length === 0 ? undefined : map);

/**
 * Controllers' tags have these prefixes. Such tags, and those of AWS, stay on the profile, but are not allowed in
 * spec.additionalTags.
 */
const RESERVED = [tagKeys.CLUSTER_TAG_PREFIX, tagKeys.OWNER_TAG.slice(0, tagKeys.OWNER_TAG.lastIndexOf('/') + 1)];

const assignableTags = (tags: tagKeys.Tags): tagKeys.Tags =>
  Object.fromEntries(
    tagKeys
      .sortedEntries(tags)
      .filter(([key, value]) => validateTag({ key, value, source: 'AWS' }).length === 0)
      .filter(([key]) => !RESERVED.some((prefix) => key.toLowerCase().startsWith(prefix)))
      .slice(0, MAX_ADDITIONAL_TAGS),
  );

/** Returns the manual steps for a profile whose name only AWS knows. */
function stepsByHand(
  { cluster, region, release }: SourceProfile,
  { namespace, clusterName }: Target,
): readonly string[] {
  const of = { cluster: clusterName, 'eks-cluster': cluster, region };
  const options = Object.entries(of).flatMap(([key, value]) => (value === undefined ? [] : [`--${key}=${value}`]));
  const command = shellCommand(['capaf', 'import', '--from=live', ...options, '-n', namespace]);
  return [
    `Find the profile in AWS, and print its manifest: ${command}`,
    ...release,
    'Go on with the steps of the manifest',
  ];
}

function stepsOf(found: SourceProfile, target: Target, name: string): readonly string[] {
  const { cluster = 'CLUSTER', region = 'REGION', roleARN = '' } = found;
  const { namespace, clusterName } = target;
  const words = ['annotate', 'awsfargateprofile', name, `${PAUSED_ANNOTATION}-`];
  const adopt = shellCommand(['kubectl', '-n', namespace, ...words]);
  const place = `${parseRoleArn(roleARN)?.account ?? 'ACCOUNT'}/${region}/${cluster}`;
  return [
    ...found.release,
    ...(clusterName === undefined
      ? [`Give the manager the flag ${shellCommand([`--allow-eks-cluster=${namespace}=${place}`])}`]
      : []),
    'Apply this manifest. It is paused, so the controller does nothing yet',
    `Let the controller adopt the profile. It adds its tags, and changes nothing else: ${adopt}`,
  ];
}

/** Returns the manifests in YAML, with comments. */
export function toText(all: readonly TakeOver[], notes: readonly string[]): string {
  const hasManifest = all.some(({ manifest }) => manifest !== undefined);
  const keep = 'An adopted profile is deleted with its object, unless spec.deletionPolicy is Retain';
  const header = [`Fargate profiles: ${all.length}`, ...notes, ...(hasManifest ? [keep] : [])];
  return [...header.map(comment), ...all.flatMap(linesOf)].join('');
}

function linesOf(each: TakeOver): readonly string[] {
  const { profile, eksCluster, region, source, verdict, notes, steps, manifest } = each;
  const place = [eksCluster && ` of EKS cluster ${eksCluster}`, region && ` in ${region}`].join('');
  const title = `Fargate profile ${profile ?? 'of unknown name'}${place}: ${VERDICTS[verdict]}`;
  return [
    manifest === undefined ? '\n' : '---\n',
    comment(title),
    comment(`Source: ${source}`),
    ...notes.map((note) => comment(`- ${note}`)),
    ...(steps.length > 0 ? [comment('To take it over:')] : []),
    ...steps.map((step, index) => comment(`${index + 1}. ${step}`)),
    manifest === undefined ? '' : toYaml(manifest),
  ];
}

const comment = (line: string): string => `# ${toPrintableLine(line)}\n`;

function toYaml(manifest: object): string {
  // kubectl reads YAML 1.1, in which for example `yes` is not a string.
  const text = stringify(manifest, { compat: 'yaml-1.1', aliasDuplicateObjects: false, lineWidth: 0 });
  // Unquoted YAML strings cannot contain escape sequences, so hidden characters need JSON, which is also YAML.
  return hasHidden(text) ? `${escapeHidden(JSON.stringify(manifest, undefined, 2))}\n` : text;
}
