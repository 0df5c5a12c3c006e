import type { World } from './world.ts';

export const CONTROLLER = 'AWSClusterControllerIdentity';
export const STATIC = 'AWSClusterStaticIdentity';
export const ROLE = 'AWSClusterRoleIdentity';

/** Where the manager reads the Secrets of AWSClusterStaticIdentities: its kubeconfig names no namespace of its own. */
export const OWN_NAMESPACE = 'capaf-system';

const API_VERSION = 'infrastructure.cluster.x-k8s.io/v1beta2';
const PLURALS: Readonly<Record<string, string>> = {
  [CONTROLLER]: 'awsclustercontrolleridentities',
  [STATIC]: 'awsclusterstaticidentities',
  [ROLE]: 'awsclusterroleidentities',
};

/** An identity that every namespace may use, unless `spec` says otherwise. */
export const identity = (kind: string, name: string, spec: object = {}): object => ({
  apiVersion: API_VERSION,
  kind,
  metadata: { name },
  spec: { allowedNamespaces: {}, ...spec },
});

export const identityPath = (kind: string, name: string): string => `/apis/${API_VERSION}/${PLURALS[kind]}/${name}`;

export interface Keys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export const keysSecret = (name: string, keys: Partial<Keys>): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace: OWN_NAMESPACE },
  data: {
    ...(keys.accessKeyId !== undefined && { AccessKeyID: base64(keys.accessKeyId) }),
    ...(keys.secretAccessKey !== undefined && { SecretAccessKey: base64(keys.secretAccessKey) }),
  },
});

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** A trust policy for one principal, with an external id where one is asked for. */
export const trusting = (principalArn: string, externalId?: string): string =>
  JSON.stringify({
    Version: '2012-10-17',
    Statement: {
      Effect: 'Allow',
      Principal: { AWS: principalArn },
      Action: 'sts:AssumeRole',
      ...(externalId !== undefined && { Condition: { StringEquals: { 'sts:ExternalId': externalId } } }),
    },
  });

export const userArn = (account: string, name: string): string => `arn:aws:iam::${account}:user/${name}`;

/** Long-lived keys of a user, in AWS, in a Secret and in an identity, all under one name. */
export async function createStaticIdentity(world: World, name: string, account: string): Promise<Keys> {
  const keys = world.aws.admin.registerKey({ account, userName: name });
  await world.apply(keysSecret(name, keys), identity(STATIC, name, { secretRef: name }));
  return keys;
}
