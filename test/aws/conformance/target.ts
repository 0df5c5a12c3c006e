import { EKSClient } from '@aws-sdk/client-eks';
import { IAMClient } from '@aws-sdk/client-iam';
import { STSClient } from '@aws-sdk/client-sts';
import { removeAll } from './remove-all.ts';
import { remoteAdmin } from '../remote.ts';
import { startServer } from '../server.ts';
import type { EmulatorServer } from '../server.ts';
import { moto } from './moto.ts';
import type { Moto } from './moto.ts';
import type { Aws, Clients, Emulated, Keys } from './scenario.ts';

const account = '123456789012';
const region = 'eu-west-1';

interface ClientPool {
  readonly aws: Omit<Aws, 'subnets'>;
  readonly destroy: () => void;
}

function clientPool(endpoint: string, keys: Keys): ClientPool {
  const made: Clients[] = [];
  const as: Aws['as'] = (change) => {
    const credentials = change.keys ?? keys;
    // One attempt, so that an error is seen as the service gave it.
    const common = { endpoint, credentials, maxAttempts: 1 };
    const here = { ...common, region: change.region ?? region };
    const clients = {
      eks: new EKSClient(here),
      // As its endpoint rules do without an endpoint: IAM is signed for one region of the partition.
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

/** A service that scenarios run against, one after the other, each in an empty world. */
export interface Target {
  readonly withEmptyWorld: (run: (aws: Emulated) => Promise<void>) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** The emulator behind its HTTP server. Profiles take a moment, so that waiting is tried as well. */
export async function emulatorTarget(): Promise<Target> {
  const server: EmulatorServer = await startServer({
    config: { eks: { createMs: 20, deleteMs: 20, clusterCreateMs: 0 } },
  });
  const admin = remoteAdmin(server.url);
  return {
    withEmptyWorld: async (run) => {
      await admin.reset();
      const keys = await admin.registerKey({ account });
      const subnets = await admin.createSubnets({ account, region, subnets: [{}, {}] });
      // A role of another account that lets everybody in, as every role of moto does.
      await admin.putRole({ account: '999999999999', name: 'entry', trustPolicy: openTrust });
      const pool = clientPool(server.url, keys);
      try {
        await run({ ...pool.aws, admin, subnets: subnets.map(({ id }) => id) });
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

/** moto takes any credentials and any subnets; its admin functions are absent. */
export async function motoTarget(python: string): Promise<Target> {
  const server: Moto = await moto(python);
  return {
    withEmptyWorld: async (run) => {
      const pool = clientPool(server.url, { accessKeyId: 'test', secretAccessKey: 'test' });
      const admin = new Proxy({} as Emulated['admin'], {
        get: (_, name) => {
          throw new Error(`moto has no admin function ${String(name)}`);
        },
      });
      try {
        await removeAll(pool.aws);
        await run({ ...pool.aws, admin, subnets: ['subnet-1', 'subnet-2'] });
      } finally {
        pool.destroy();
      }
    },
    close: server.close,
  };
}
