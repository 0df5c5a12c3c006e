import { EKSClient } from '@aws-sdk/client-eks';
import { IAMClient } from '@aws-sdk/client-iam';
import type { World } from './world.ts';
import { ACCOUNT, REGION } from './world.ts';

/** Somebody else in the same account, with a console or another tool at hand. */
export interface Stranger {
  readonly eks: EKSClient;
  readonly iam: IAMClient;
  close(): void;
}

export function strangerIn(world: World): Stranger {
  const { accessKeyId, secretAccessKey } = world.aws.admin.registerKey({ account: ACCOUNT, foreign: true });
  const config = { endpoint: world.awsUrl, region: REGION, credentials: { accessKeyId, secretAccessKey } };
  const [eks, iam] = [new EKSClient(config), new IAMClient(config)];
  return {
    eks,
    iam,
    close: () => {
      eks.destroy();
      iam.destroy();
    },
  };
}
