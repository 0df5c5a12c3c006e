import { EKSClient } from '@aws-sdk/client-eks';
import { IAMClient } from '@aws-sdk/client-iam';
import { STSClient } from '@aws-sdk/client-sts';
import { removeAll } from './remove-all.ts';
import { type EmulatorServer, startServer } from '../transport/server.ts';
import { type Moto, moto } from './moto.ts';
import type { ConformanceAws, ConformanceScenario, SdkClients, SdkKeys } from './scenario.ts';

const account = '123456789012';
const region = 'eu-west-1';

interface ClientPool {
  readonly aws: Omit<ConformanceAws, 'subnets'>;
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
    aws: { ...as({}), account, region, as },
    destroy: () => made.flatMap(({ eks, iam, sts }) => [eks, iam, sts]).forEach((client) => client.destroy()),
  };
}

/**
 * A server that imitates AWS. Conformance scenarios run on the server one after the other, each in an AWS account
 * without resources.
 */
export interface ConformanceTarget {
  readonly withEmptyAws: (run: ConformanceScenario['run']) => Promise<void>;
  readonly close: () => Promise<void>;
}

/**
 * Starts the AWS emulator as an HTTP server for conformance scenarios. Creations and deletions of Fargate profiles take
 * some milliseconds, so that scenarios must wait for their results.
 */
export async function emulatorTarget(): Promise<ConformanceTarget> {
  const server: EmulatorServer = await startServer({
    config: { eks: { createMs: 20, deleteMs: 20, clusterCreateMs: 0 } },
  });
  const { admin } = server.emulator;
  return {
    withEmptyAws: async (run) => {
      admin.reset();
      const keys = admin.registerKey({ account });
      const subnets = admin.createSubnets({ account, region, subnets: [{}, {}] });
      // The scenarios that test AssumeRole need a role of another account. This role trusts every caller, as each role
      // does in moto (an AWS mock server).
      admin.putRole({ account: '999999999999', name: 'entry', trustPolicy: openTrust });
      const pool = clientPool(server.url, keys);
      try {
        await run({ ...pool.aws, subnets: subnets.map(({ id }) => id) });
      } finally {
        pool.destroy();
      }
    },
    close: server.close,
  };
}

const openTrust = JSON.stringify({
  Version: '2012-10-17',
  Statement: { Effect: 'Allow', Principal: { AWS: '*' }, Action: 'sts:AssumeRole' },
});

/**
 * Starts moto, an AWS mock server, as the server for conformance scenarios. moto accepts any credentials and any
 * subnets.
 */
export async function motoTarget(python: string): Promise<ConformanceTarget> {
  const server: Moto = await moto(python);
  return {
    withEmptyAws: async (run) => {
      const pool = clientPool(server.url, { accessKeyId: 'test', secretAccessKey: 'test' });
      try {
        await removeAll(pool.aws);
        await run({ ...pool.aws, subnets: ['subnet-1', 'subnet-2'] });
      } finally {
        pool.destroy();
      }
    },
    close: server.close,
  };
}
