import { EKSClient } from '@aws-sdk/client-eks';
import { IAMClient } from '@aws-sdk/client-iam';
import type { World } from '../world.ts';
import { ACCOUNT, REGION } from '../world.ts';

/**
 * An EKS client and an IAM client with the credentials of an AWS user that is not the manager. The user belongs to the
 * AWS account of the manager.
 */
export interface OtherClient {
  readonly eks: EKSClient;
  readonly iam: IAMClient;
}

/** Creates an EKS client and an IAM client, which the test environment closes when it stops. */
export function createOtherClient(world: World): OtherClient {
  const { accessKeyId, secretAccessKey } = world.aws.admin.registerKey({ account: ACCOUNT, foreign: true });
  const config = { endpoint: world.awsUrl, region: REGION, credentials: { accessKeyId, secretAccessKey } };
  const [eks, iam] = [new EKSClient(config), new IAMClient(config)];
  world.addCleanup(() => {
    eks.destroy();
    iam.destroy();
    return Promise.resolve();
  });
  return { eks, iam };
}
