import { isRecord, textAt } from 'controller-runtime/json';
import { shellCommand } from 'controller-runtime/text';
import * as external from '../../../api/external/index.ts';
import { keikoNames } from '../../../pkg/fargate/keiko-names.ts';
import { type Path, type SourceDocument, decodeAt, itemsAt, valueAt } from '../documents.ts';
import { Failure } from '../io.ts';
import {
  type SourceProfile,
  clusterField,
  namespaceNameField,
  objectNameField,
  profileField,
  readFacts,
} from './facts.ts';

type Reader = (document: SourceDocument) => readonly SourceProfile[];

export const RELEASE =
  'Find the tool that manages the profile, and stop it: "capaf import --from …" says how for each source';

const readDescribed: Reader = (document) => {
  const path = ['fargateProfile'];
  if (valueAt(document.value, path) === undefined) return [];
  const facts = readFacts(document, [path], ['cluster', 'name', 'role', 'selectors']);
  return [{ source: `aws eks describe-fargate-profile, ${document.at(path)}`, ...facts, release: [RELEASE] }];
};

/**
 * Also reads the CDK's templates.
 * https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-eks-fargateprofile.html
 */
const readCloudFormation: Reader = (template) => {
  // CloudFormation converts numbers and booleans to strings.
  const value: unknown = JSON.parse(
    JSON.stringify(template.value, (_, inner: unknown) =>
      typeof inner === 'number' || typeof inner === 'boolean' ? String(inner) : inner,
    ),
  );
  const resources = valueAt(value, ['Resources']);
  if (!isRecord(resources))
    throw new Failure(`${template.at(['Resources'])}: no template of CloudFormation, because it has no Resources`);
  return Object.keys(resources).flatMap((id) => {
    const type = textAt(resources[id], 'Type');
    // The CDK's construct FargateProfile contains the input of the EKS call.
    const isCdk = type === 'Custom::AWSCDK-EKS-FargateProfile';
    if (!isCdk && type !== 'AWS::EKS::FargateProfile') return [];
    const path = ['Resources', id, 'Properties', ...(isCdk ? ['Config'] : [])];
    return {
      source: `CloudFormation resource ${id}, ${template.at(['Resources', id])}`,
      logicalId: id,
      ...readFacts({ ...template, value }, [path], ['cluster', 'role', 'selectors']),
      release: [
        `Set "DeletionPolicy: Retain" on the resource ${id} (in the CDK, applyRemovalPolicy), and update the stack`,
        `Delete ${id} from the template, and update the stack again`,
      ],
    };
  });
};

// https://registry.terraform.io/providers/hashicorp/aws/latest/docs/resources/eks_fargate_profile
const TERRAFORM_TYPE = 'aws_eks_fargate_profile';

const readTerraform: Reader = (document) =>
  findResources(document).map(({ address, path }) => ({
    source: `Terraform ${address}, ${document.file}`,
    ...readFacts(document, [path], ['cluster', 'name', 'role', 'selectors']),
    release: [
      `Run: ${shellCommand(['terraform', 'state', 'rm', '--', address])}`,
      'Delete the resource from the configuration before the next apply (both steps can be a "removed" block with "lifecycle { destroy = false }")',
    ],
  }));

function findResources({ value, at }: SourceDocument) {
  if (valueAt(value, ['version']) === 4 && Array.isArray(valueAt(value, ['resources']))) return resourcesOfState(value);
  if (isRecord(valueAt(value, ['values', 'root_module']))) return resourcesOfModule(value, ['values', 'root_module']);
  const wanted = 'the output of "terraform state pull" (version 4) or "terraform show -json" (without a plan)';
  throw new Failure(`${at(['version'])}: this is no Terraform state; give ${wanted}; with OpenTofu, use "tofu"`);
}

const profilesAt = (value: unknown, path: Path) =>
  itemsAt(value, path).filter(
    ({ item }) => textAt(item, 'type') === TERRAFORM_TYPE && textAt(item, 'mode') === 'managed',
  );

const resourcesOfState = (state: unknown) =>
  profilesAt(state, ['resources']).flatMap(({ item, path }) =>
    itemsAt(state, [...path, 'instances'])
      // Terraform has replaced a deposed instance, and still has to delete it.
      .filter(({ item: instance }) => textAt(instance, 'deposed') === undefined)
      .map((instance) => {
        const key = valueAt(instance.item, ['index_key']);
        const index = typeof key === 'string' || typeof key === 'number' ? `[${JSON.stringify(key)}]` : '';
        const address = [textAt(item, 'module'), TERRAFORM_TYPE, textAt(item, 'name')];
        return {
          address: address.filter((part) => part !== undefined).join('.') + index,
          path: [...instance.path, 'attributes'],
        };
      }),
  );

const resourcesOfModule = (shown: unknown, module: Path): ReturnType<typeof resourcesOfState> => [
  ...profilesAt(shown, [...module, 'resources'])
    .filter(({ item }) => textAt(item, 'deposed_key') === undefined)
    .map(({ item, path }) => ({ address: textAt(item, 'address') ?? TERRAFORM_TYPE, path: [...path, 'values'] })),
  ...itemsAt(shown, [...module, 'child_modules']).flatMap(({ path }) => resourcesOfModule(shown, path)),
];

/** https://eksctl.io/usage/schema/ */
const readEksctl: Reader = (document) =>
  kubernetesObjects(document, 'ClusterConfig', 'eksctl.io').flatMap((config) => {
    const cluster = decodeAt(config, ['metadata', 'name'], clusterField);
    const region = textAt(valueAt(config.value, ['metadata']), 'region');
    return itemsAt(config.value, ['fargateProfiles']).map(({ path }) => {
      const facts = readFacts(config, [path, ['iam']], ['name', 'selectors']);
      const stacks = `eksctl-${cluster}-cluster or eksctl-${cluster}-fargate`;
      return {
        source: `eksctl ClusterConfig, ${config.at(path)}`,
        ...facts,
        cluster,
        region,
        release: [
          'Delete the profile from fargateProfiles of the ClusterConfig. Never run "eksctl delete fargateprofile" for it',
          ...(facts.roleARN === undefined ? [`Keep the role: it is in the CloudFormation stack ${stacks}`] : []),
        ],
      };
    });
  });

const readAck: Reader = (document) =>
  kubernetesObjects(document, 'FargateProfile', 'eks.services.k8s.aws').map((object) => {
    const { name, kubectl, owners } = object;
    return {
      source: `ACK FargateProfile ${name}, ${object.at([])}`,
      ...readFacts(object, [['spec'], ['status', 'ackResourceMetadata']], ['name', 'selectors']),
      release: [
        ...owners,
        `Let ACK keep the profile in AWS: ${kubectl('annotate', 'services.k8s.aws/deletion-policy=retain')}`,
        `Delete the object of ACK, also in Git: ${kubectl('delete')}`,
      ],
    };
  });

const EXTERNAL_NAME = 'crossplane.io/external-name';

/** Reads objects of Crossplane's classic provider, and of Upbound's, whose second group has namespaced objects. */
const readCrossplane: Reader = (document) =>
  ['eks.aws.crossplane.io', 'eks.aws.upbound.io', 'eks.aws.m.upbound.io'].flatMap((group) =>
    kubernetesObjects(document, 'FargateProfile', group).map((object) => {
      const { name, kubectl, owners } = object;
      const paths = ['spec.forProvider', 'status.atProvider'].map((path) => path.split('.'));
      const facts = readFacts(object, paths, []);
      // The name in AWS. Upbound's provider stores it as `<cluster>:<profile>`.
      const path = ['metadata', 'annotations', EXTERNAL_NAME];
      const id = textAt(valueAt(object.value, ['status', 'atProvider']), 'id');
      const externalName = textAt(valueAt(object.value, path.slice(0, -1)), EXTERNAL_NAME) ?? id ?? name;
      const [profile, cluster] = externalName.split(':').toReversed();
      const inAws = { ...object, value: { [EXTERNAL_NAME]: profile, cluster }, at: () => object.at(path) };
      // Namespaced objects have no deletionPolicy, so their managementPolicies must forbid the deletion.
      const kept = group.includes('.m.') ? { managementPolicies: ['Observe'] } : { deletionPolicy: 'Orphan' };
      const patch = `--patch=${JSON.stringify({ spec: kept })}`;
      return {
        source: `Crossplane FargateProfile ${name}, ${object.at([])}`,
        ...facts,
        name: decodeAt(inAws, [EXTERNAL_NAME], profileField),
        cluster: facts.cluster ?? (cluster === undefined ? undefined : decodeAt(inAws, ['cluster'], clusterField)),
        release: [
          ...owners,
          `Let Crossplane keep the profile in AWS: ${kubectl('patch', '--type=merge', patch)}`,
          `Delete the object of Crossplane, also in Git: ${kubectl('delete')}`,
        ],
      };
    }),
  );

const readKeiko: Reader = (document) =>
  kubernetesObjects(document, external.INSTANCE_GROUP_KIND, external.INSTANCE_GROUP_GROUP).flatMap((object) => {
    if (!isRecord(object.value) || !external.isFargateGroup(object.value)) return [];
    const { name, kubectl, owners } = object;
    const namespace = decodeAt(object, ['metadata', 'namespace'], namespaceNameField);
    const group = { ...object, value: external.withNamedSelectors(object.value) };
    const path = ['spec', external.FARGATE_PROVISIONER];
    const decoded = { ...group, value: decodeAt(group, [], external.FargateInstanceGroup) };
    const cluster = decodeAt(decoded, [...path, 'clusterName'], clusterField);
    const finalizers = '--patch={"metadata":{"finalizers":null}}';
    return {
      source: `keiko InstanceGroup ${name}, ${object.at([])}`,
      ...readFacts(decoded, [path], ['selectors']),
      name: keikoNames(cluster, { namespace, name }).profile,
      release: [
        ...owners,
        `Stop keiko, and wait until its pods are gone: ${shellCommand(['kubectl', '-n', 'instance-manager', 'scale', 'deployment/instance-manager', '--replicas=0'])}`,
        `Take keiko's finalizer off the group, so that the profile stays: ${kubectl('patch', '--type=merge', finalizers)}`,
        `Delete the group, also in Git, and start keiko again after the last one: ${kubectl('delete')}`,
      ],
    };
  });

function kubernetesObjects(object: SourceDocument, kind: string, group: string) {
  const { value } = object;
  if (textAt(value, 'kind') !== kind || textAt(value, 'apiVersion')?.startsWith(`${group}/`) !== true) return [];
  const name = decodeAt(object, ['metadata', 'name'], objectNameField);
  const place = ['metadata', 'namespace'];
  const inNamespace = valueAt(value, place) === undefined ? [] : ['-n', decodeAt(object, place, namespaceNameField)];
  const kubectl = (verb: string, ...args: readonly string[]): string =>
    shellCommand(['kubectl', ...inNamespace, verb, `${kind.toLowerCase()}s.${group}/${name}`, ...args]);
  const owners = itemsAt(value, ['metadata', 'ownerReferences'])
    .filter(({ item }) => valueAt(item, ['controller']) === true)
    .map(({ item }) => {
      const owner = `${textAt(item, 'kind')} ${textAt(item, 'name')}`;
      return `Take the object out of ${owner}, which owns it: its controller would create the object again and undo the next steps`;
    });
  return [{ ...object, name, kubectl, owners }];
}

export const SOURCES = {
  live: { read: readDescribed, wanted: 'the output of "aws eks describe-fargate-profile"' },
  eksctl: { read: readEksctl, wanted: 'a ClusterConfig of eksctl.io with fargateProfiles' },
  terraform: { read: readTerraform, wanted: 'a state with resources aws_eks_fargate_profile' },
  cloudformation: { read: readCloudFormation, wanted: 'a template with resources AWS::EKS::FargateProfile' },
  ack: { read: readAck, wanted: 'FargateProfiles of eks.services.k8s.aws' },
  crossplane: { read: readCrossplane, wanted: 'FargateProfiles of eks.aws.crossplane.io or eks.aws.upbound.io' },
  keiko: { read: readKeiko, wanted: 'InstanceGroups of the provisioner eks-fargate' },
} as const;
