import { expect } from 'chai';
import { awaitInventory } from './await-inventory.ts';
import type { Inventory } from './inventory.ts';

const NAMESPACE = '/registry/namespaces/default';
const API_SERVICE = '/registry/apiregistration.k8s.io/apiservices/v1.example.com';
const CLEAN: Inventory = { contents: new Map([[NAMESPACE, 'a']]), served: ['/api/v1', '/api/v1/namespaces /default'] };

/** Waits for `CLEAN` on a control plane that always has this inventory. */
async function resultFor(found: Partial<Inventory>) {
  const reports: string[] = [];
  let stops = 0;
  const controlPlane = {
    logs: () => 'its logs',
    stop: async () => {
      stops += 1;
    },
  };
  const options = { timeoutMs: 0, report: (text: string) => reports.push(text) };
  const result = await awaitInventory(controlPlane, async () => ({ ...CLEAN, ...found }), CLEAN, options).catch(
    (error: unknown) => error,
  );
  return { result, stops, reports };
}

describe('the reset of a control plane of the pool', () => {
  const contents = (...more: readonly (readonly [string, string])[]) => new Map([...CLEAN.contents, ...more]);

  it('ends once etcd and the API server are as before', async () =>
    expect(await resultFor({})).to.deep.equal({ result: true, stops: 0, reports: [] }));

  const ofApiServer: readonly (readonly [string, Partial<Inventory>, string])[] = [
    [
      'serves an API group whose CRD is deleted',
      { served: [...CLEAN.served, '/apis/example.com/v1'] },
      '/apis/example.com/v1 is still served',
    ],
    ['keeps the APIService of this group', { contents: contents([API_SERVICE, 'x']) }, `${API_SERVICE} is left over`],
    ['serves a kind no longer', { served: ['/api/v1'] }, '/api/v1/namespaces /default is no longer served'],
  ];
  for (const [given, found, difference] of ofApiServer)
    it(`reports and stops an API server that forever ${given}, and fails no test`, async () => {
      const { result, stops, reports } = await resultFor(found);
      expect({ result, stops }).to.deep.equal({ result: false, stops: 1 });
      expect(reports).to.deep.equal([
        `An API server could not be reset, and the pool stops it:\n${difference}\nits logs`,
      ]);
    });

  const ofTests: readonly (readonly [string, Partial<Inventory>, string])[] = [
    ['an object', { contents: contents(['/registry/pods/default/a', 'x']) }, '/registry/pods/default/a is left over'],
    ['a changed object', { contents: contents([NAMESPACE, 'b']) }, `${NAMESPACE} has changed`],
    ['a deleted object', { contents: new Map() }, `${NAMESPACE} is missing`],
    [
      'an object, and the API server serves more',
      { contents: contents(['/registry/pods/default/a', 'x']), served: [...CLEAN.served, '/apis/example.com/v1'] },
      '/registry/pods/default/a is left over\n/apis/example.com/v1 is still served',
    ],
  ];
  for (const [given, found, difference] of ofTests)
    it(`fails if a test leaves ${given} in etcd`, async () => {
      const { result, stops, reports } = await resultFor(found);
      expect(result).to.be.instanceOf(Error).with.property('message').that.contains(difference);
      expect({ stops, reports }).to.deep.equal({ stops: 0, reports: [] });
    });
});
