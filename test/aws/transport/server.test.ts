import { expect } from 'chai';
import { remoteAdmin } from '../admin/remote.ts';
import { type EmulatorServer, startServer } from './server.ts';

describe("the emulator's admin API", () => {
  let server: EmulatorServer;

  beforeEach(async () => {
    server = await startServer();
  });

  afterEach(async () => server.close());

  it('has every function of the in-process admin, with the same values', async () => {
    const admin = remoteAdmin(server.url);
    const cluster = await admin.createCluster({ name: 'c', region: 'eu-west-1', subnets: [{ id: 'subnet-1' }] });
    expect(server.emulator.admin.clusters()).to.deep.equal([cluster]);
    await admin.putProfile({
      cluster: 'c',
      region: 'eu-west-1',
      name: 'p',
      podExecutionRoleArn: 'arn:aws:iam::123456789012:role/r',
    });
    expect(await admin.profiles()).to.deep.equal(server.emulator.admin.profiles());
    await admin.setProfile({ cluster: 'c', region: 'eu-west-1', name: 'p', status: 'DELETE_FAILED' });
    expect((await admin.snapshot()).profiles.map(({ status }) => status)).to.deep.equal(['DELETE_FAILED']);
    await admin.setConfig({ eks: { createMs: [1, 2] } });
    expect(server.emulator.model.state.config.eks.createMs).to.deep.equal([1, 2]);
    await admin.removeCluster({ name: 'c', region: 'eu-west-1' });
    expect(await admin.clusters()).to.deep.equal([]);
  });

  it('reports the error of a call', async () => {
    const admin = remoteAdmin(server.url);
    const errorOf = async (call: Promise<unknown>): Promise<string> =>
      call.then(
        () => 'none',
        (error: unknown) => (error instanceof Error ? error.message : String(error)),
      );
    expect(await errorOf(admin.setCluster({ name: 'nope' }))).to.contain('there is no cluster nope');
    const unknown = await fetch(`${server.url}/_emulator/nope`, { method: 'POST' });
    expect(unknown.status).to.equal(404);
    const broken = await fetch(`${server.url}/_emulator/createCluster`, { method: 'POST', body: '{' });
    expect(broken.status).to.equal(400);
  });
});
