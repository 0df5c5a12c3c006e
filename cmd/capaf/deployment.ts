import { isLeft } from 'fp-ts/lib/Either.js';
import { fieldAt, textAt } from '../../api/record.ts';
import { PROVIDER_LABEL } from '../../api/v1beta2/index.ts';
import { errorMessage } from '../../pkg/env/error-text.ts';
import { NO_LIMITS } from '../../pkg/fargate/operator-limits.ts';
import { keyOf } from '../../pkg/kube/object-key.ts';
import type { KubeClient, KubeObject, Resource } from '../../pkg/kube/types.ts';
import { parseFlags } from '../manager/flags/parse-flags.ts';

export const DEPLOYMENTS: Resource = { group: 'apps', version: 'v1', plural: 'deployments' };
const MANAGER = 'control-plane=capaf-controller-manager';

/** The Deployment of a provider of Cluster API. */
export type Deployment = ReturnType<typeof toDeployment>;

export function toDeployment(object: KubeObject) {
  const pod = fieldAt(fieldAt(object['spec'], 'template'), 'spec');
  const containers = listAt(pod, 'containers');
  const container = containers.find((each) => textAt(each, 'name') === 'manager') ?? containers[0];
  const [image = ''] = (textAt(container, 'image') ?? '').split('@');
  const [region] = ['AWS_REGION', 'AWS_DEFAULT_REGION'].flatMap((name) =>
    listAt(container, 'env').flatMap((each) => (textAt(each, 'name') === name ? (textAt(each, 'value') ?? []) : [])),
  );
  return {
    key: keyOf(object),
    provider: object.metadata.labels?.[PROVIDER_LABEL] ?? '',
    /** The tag of the image, or the image if it has none. */
    version: /:([\w.-]+)$/.exec(image)?.[1] ?? image,
    replicas: Number(fieldAt(object['spec'], 'replicas') ?? 1),
    ready: Number(fieldAt(object['status'], 'readyReplicas') ?? 0),
    serviceAccount: textAt(pod, 'serviceAccountName') ?? 'default',
    args: listAt(container, 'args').map(String),
    ...(region !== undefined && { region }),
  };
}

function listAt(value: unknown, field: string): readonly unknown[] {
  const found = fieldAt(value, field);
  return Array.isArray(found) ? found : [];
}

/** The settings of the running manager that decide what it does; `unseen`: why they are not known. */
export async function readManagerSettings(client: KubeClient, namespace: string, signal: AbortSignal) {
  const unknown = (why: string) => ({
    limits: NO_LIMITS,
    region: undefined,
    unseen: `The flags of the manager are not known (${why}), so the plan assumes that they limit nothing. --manager-namespace names its namespace.`,
  });
  try {
    const [object] = (await client.list(DEPLOYMENTS, { namespace, labelSelector: MANAGER, signal })).items;
    if (object === undefined)
      return unknown(`there is no Deployment with the label ${MANAGER} in namespace ${namespace}`);
    const { args, region, key } = toDeployment(object);
    const command = parseFlags(args);
    if (isLeft(command) || command.right.kind !== 'run')
      return unknown(`this version of capaf cannot read the flags of Deployment ${key.name}`);
    return { limits: command.right.flags.limits, region, unseen: undefined };
  } catch (error) {
    return unknown(errorMessage(error));
  }
}
