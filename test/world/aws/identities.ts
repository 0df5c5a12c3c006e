import type { World } from '../world.ts';

export const CONTROLLER_IDENTITY = 'AWSClusterControllerIdentity';
export const STATIC_IDENTITY = 'AWSClusterStaticIdentity';
export const ROLE_IDENTITY = 'AWSClusterRoleIdentity';

/** The namespace of the manager, in which it reads the Secrets of AWSClusterStaticIdentities. */
const MANAGER_NAMESPACE = 'capaf-system';

const API_VERSION = 'infrastructure.cluster.x-k8s.io/v1beta2';
const PLURALS: Readonly<Record<string, string>> = {
  [CONTROLLER_IDENTITY]: 'awsclustercontrolleridentities',
  [STATIC_IDENTITY]: 'awsclusterstaticidentities',
  [ROLE_IDENTITY]: 'awsclusterroleidentities',
};

/**
 * The manifest of an identity object, e.g. of an AWSClusterRoleIdentity, that all namespaces may use. The parameter
 * `spec` adds or replaces fields of its spec.
 */
export const identity = (kind: string, name: string, spec: object = {}): object => ({
  apiVersion: API_VERSION,
  kind,
  metadata: { name },
  spec: { allowedNamespaces: {}, ...spec },
});

export const identityPath = (kind: string, name: string): string => `/apis/${API_VERSION}/${PLURALS[kind]}/${name}`;

export interface AccessKeyPair {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** The manifest of the Secret with the access keys of an AWSClusterStaticIdentity. */
export const keysSecret = (name: string, keys: Partial<AccessKeyPair>): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace: MANAGER_NAMESPACE },
  data: {
    ...(keys.accessKeyId !== undefined && { AccessKeyID: base64(keys.accessKeyId) }),
    ...(keys.secretAccessKey !== undefined && { SecretAccessKey: base64(keys.secretAccessKey) }),
  },
});

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** The trust policy of an IAM role that lets only the given principal assume the role. */
export const trustPolicyFor = (principalArn: string): string =>
  JSON.stringify({
    Version: '2012-10-17',
    Statement: {
      Effect: 'Allow',
      Principal: { AWS: principalArn },
      Action: 'sts:AssumeRole',
    },
  });

export const userArn = (account: string, name: string): string => `arn:aws:iam::${account}:user/${name}`;

/**
 * Creates an IAM user with access keys, a Secret with these access keys, and an AWSClusterStaticIdentity that refers to
 * the Secret. All three have the given name.
 */
export async function createStaticIdentity(world: World, name: string, account: string): Promise<AccessKeyPair> {
  const keys = world.aws.admin.registerKey({ account, userName: name });
  await world.apply(keysSecret(name, keys), identity(STATIC_IDENTITY, name, { secretRef: name }));
  return keys;
}
