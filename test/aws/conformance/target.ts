import { CreateClusterCommand, EKSClient } from '@aws-sdk/client-eks';
import { IAMClient } from '@aws-sdk/client-iam';
import { STSClient } from '@aws-sdk/client-sts';
import { removeAll } from './remove-all.ts';
import { startServer } from '../transport/server.ts';
import { type Moto, moto } from './moto.ts';
import type { ConformanceAws, ConformanceScenario, SdkClients, SdkKeys } from './scenario.ts';

const account = '123456789012';
const region = 'eu-west-1';
const subnets = ['subnet-1', 'subnet-2'];

interface ClientPool {
  readonly aws: Omit<ConformanceAws, 'createCluster'>;
  readonly destroy: () => void;
}

function clientPool(endpoint: string, keys: SdkKeys): ClientPool {
  const made: SdkClients[] = [];
  const as: ConformanceAws['as'] = (change) => {
    const credentials = change.keys ?? keys;
    // The SDK clients make only one attempt, so that tests see the error of this attempt.
    const common = { endpoint, credentials, maxAttempts: 1 };
    const here = { ...common, region: change.region ?? region };
    const clients = {
      eks: new EKSClient(here),
      // IAM is global, so requests to IAM must be signed for one fixed region of the partition. At a custom endpoint,
      // the AWS SDK signs for the region of the client.
      iam: new IAMClient({ ...common, region: 'us-east-1' }),
      sts: new STSClient(here),
    };
    made.push(clients);
    return clients;
  };
  return {
    aws: { ...as({}), account, region, subnets, as },
    destroy: () => made.flatMap(({ eks, iam, sts }) => [eks, iam, sts]).forEach((client) => client.destroy()),
  };
}

/**
 * Runs a conformance scenario on a new AWS emulator, as an HTTP server. Creations and deletions of Fargate profiles take
 * some milliseconds, so that the scenario must wait for their results.
 */
export async function runOnEmulator(run: ConformanceScenario['run']): Promise<void> {
  const server = await startServer({ config: { eks: { createMs: 20, deleteMs: 20 } } });
  const { admin } = server.emulator;
  const pool = clientPool(server.url, admin.registerKey({ account }));
  // The scenarios that test AssumeRole need a role of another account. This role trusts every caller, as each role does
  // in moto (an AWS mock server).
  admin.putRole({ account: '999999999999', name: 'entry', trustPolicy: openTrust });
  const createCluster = async (): Promise<void> => {
    admin.createCluster({ name: 'c', account, region, subnets: subnets.map((id) => ({ id })) });
  };
  try {
    await run({ ...pool.aws, createCluster });
  } finally {
    pool.destroy();
    await server.close();
  }
}

const openTrust = JSON.stringify({
  Version: '2012-10-17',
  Statement: { Effect: 'Allow', Principal: { AWS: '*' }, Action: 'sts:AssumeRole' },
});

/** A server of moto, on which conformance scenarios run one after the other, each in an AWS account without resources. */
export interface MotoTarget {
  readonly run: (run: ConformanceScenario['run']) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Starts moto, an AWS mock server. moto accepts any credentials and any subnets. */
export async function motoTarget(python: string): Promise<MotoTarget> {
  const server: Moto = await moto(python);
  return {
    run: async (run) => {
      const pool = clientPool(server.url, { accessKeyId: 'test', secretAccessKey: 'test' });
      try {
        await removeAll(pool.aws);
        const { eks } = pool.aws;
        const roleArn = `arn:aws:iam::${account}:role/cluster`;
        const input = { name: 'c', roleArn, resourcesVpcConfig: { subnetIds: subnets } };
        const createCluster = async (): Promise<void> => void (await eks.send(new CreateClusterCommand(input)));
        await run({ ...pool.aws, createCluster });
      } finally {
        pool.destroy();
      }
    },
    close: server.close,
  };
}
