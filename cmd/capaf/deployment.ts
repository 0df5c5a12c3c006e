import { isLeft, isRight } from 'fp-ts/lib/Either.js';
import { keyOf, type KubeClient, type KubeObject, type Resource } from 'controller-runtime/client';
import { listAt, numberAt, textAt } from 'controller-runtime/json';
import { toText } from 'controller-runtime/text';
import { PROVIDER_LABEL } from '../../api/v1beta2/index.ts';
import { NO_LIMITS } from '../../pkg/fargate/operator-limits.ts';
import { parseFlags } from '../manager/flags/parse-flags.ts';
import { attempt } from './aws.ts';
import { valueAt } from './documents.ts';

export const DEPLOYMENTS: Resource = { group: 'apps', version: 'v1', plural: 'deployments' };
const MANAGER = 'control-plane=capaf-controller-manager';

export type Deployment = ReturnType<typeof toDeployment>;

export function toDeployment(object: KubeObject) {
  const pod = valueAt(object, ['spec', 'template', 'spec']);
  const containers = listAt(pod, 'containers');
  const container = containers.find((each) => textAt(each, 'name') === 'manager') ?? containers[0];
  const [image = ''] = (textAt(container, 'image') ?? '').split('@');
  const variables = new Map(listAt(container, 'env').map((each) => [textAt(each, 'name'), textAt(each, 'value')]));
  const region = variables.get('AWS_REGION') ?? variables.get('AWS_DEFAULT_REGION');
  return {
    key: keyOf(object),
    provider: object.metadata.labels?.[PROVIDER_LABEL] ?? '',
    /** The tag of the image, or the image if it has none. */
    version: /:([\w.-]+)$/.exec(image)?.[1] ?? image,
    replicas: numberAt(object['spec'], 'replicas') ?? 1,
    ready: numberAt(object['status'], 'readyReplicas') ?? 0,
    serviceAccount: textAt(pod, 'serviceAccountName') ?? 'default',
    args: listAt(container, 'args').map(toText),
    region,
  };
}

/** Returns the manager's settings on which a plan depends. If they are not known, returns defaults and why. */
export async function readManagerSettings(client: KubeClient, namespace: string, signal: AbortSignal) {
  const listing = await attempt(() => client.list(DEPLOYMENTS, { namespace, labelSelector: MANAGER, signal }));
  const [deployment] = isRight(listing) ? listing.right.items.map(toDeployment) : [];
  const command = parseFlags(deployment?.args ?? []);
  if (deployment !== undefined && isRight(command) && command.right.kind === 'run')
    return { limits: command.right.flags.limits, region: deployment.region, unseen: undefined };
  const why = isLeft(listing)
    ? listing.left
    : `namespace ${namespace} has no Deployment with the label ${MANAGER} whose flags this version of capaf can read`;
  const unseen = `The flags of the manager are not known, so the plan assumes their defaults: ${why}. --manager-namespace names its namespace.`;
  return { limits: NO_LIMITS, region: undefined, unseen };
}
