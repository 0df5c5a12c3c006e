import { expect } from 'chai';
import type { KubeObject } from '../envtest/api.ts';
import { EKS_POLICY } from '../world/from-capa.ts';
import type { Sight } from './witness.ts';
import { Witness } from './witness.ts';

const ARN = 'arn:aws:eks:us-east-1:123456789012:fargateprofile/c/web/1';
const ROLE = { id: 'AROA1', attachedPolicies: [EKS_POLICY] };
const ACTIVE: Sight = { profile: { arn: ARN, status: 'ACTIVE' }, role: ROLE };
const CREATING: Sight = { profile: { arn: ARN, status: 'CREATING' }, role: ROLE };
const NOTHING: Sight = {};
const WORKING = { Ready: 'False', Reconciling: 'True' };

/** A version whose status is this. */
let versions = 0;
function version(conditions: Readonly<Record<string, string>>, status: object = {}, generation = 1): KubeObject {
  versions += 1;
  return {
    apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta2',
    kind: 'AWSFargateProfile',
    metadata: {
      name: 'web',
      uid: 'uid',
      generation,
      resourceVersion: String(versions),
      creationTimestamp: '2026-11-21T00:00:00Z',
    },
    status: {
      observedGeneration: 1,
      ready: conditions['Ready'] === 'True',
      conditions: Object.entries(conditions).map(([type, text]) => ({ type, status: text, observedGeneration: 1 })),
      ...status,
    },
  };
}

describe('the witness of the fault grid', () => {
  const told = (...versionsAndSights: readonly (readonly [KubeObject, Sight])[]): readonly string[] => {
    const witness = new Witness();
    for (const [object, sight] of versionsAndSights) witness.told({ type: 'MODIFIED', object }, sight);
    return witness.findings.map((finding) => finding.replace(/^version \d+: /, ''));
  };
  const inSeeing = '(in AWS since the version before: ';

  it('has nothing against the truth', () => {
    const status = { profileARN: ARN, profileStatus: 'ACTIVE', role: { id: 'AROA1' } };
    expect(told([version({ Ready: 'True', Stalled: 'False', Reconciling: 'False' }, status), ACTIVE])).to.deep.equal(
      [],
    );
  });

  it('notices Ready without ACTIVE', () => {
    expect(told([version({ Ready: 'True' }), CREATING])).to.deep.equal([
      `Ready is True without ACTIVE ${inSeeing}CREATING)`,
    ]);
  });

  it('notices Ready that is said again after the profile was lost', () => {
    const versionsOfALoss = [
      [version({ Ready: 'True' }), ACTIVE],
      [version({ Ready: 'True' }), NOTHING],
      [version({ Ready: 'True' }, { account: '123456789012' }), NOTHING],
    ] as const;
    expect(told(...versionsOfALoss)).to.deep.equal([`Ready is True without ACTIVE ${inSeeing}absent)`]);
  });

  it('lets AWS go on while a version is on its way', () => {
    const witness = new Witness();
    witness.told({ type: 'ADDED', object: version({}) }, CREATING);
    witness.saw(ACTIVE);
    witness.told({ type: 'MODIFIED', object: version(WORKING, { profileStatus: 'CREATING' }) }, ACTIVE);
    expect(witness.findings).to.deep.equal([]);
  });

  it('notices a status, an ARN and a role of nothing', () => {
    const status = { profileARN: ARN, profileStatus: 'ACTIVE', role: { id: 'AROA1' } };
    expect(told([version(WORKING, status), NOTHING])).to.deep.equal([
      `status.profileStatus is ACTIVE ${inSeeing}absent)`,
      `status.profileARN is of no profile ${inSeeing}absent)`,
      'status.role.id is of no role',
    ]);
  });

  it('notices conditions that contradict each other', () => {
    expect(told([version({ Stalled: 'True', Reconciling: 'True' }), NOTHING])).to.deep.equal([
      'Stalled and Reconciling are both True',
    ]);
    expect(told([version({ Ready: 'True', Stalled: 'True' }), ACTIVE])).to.deep.equal([
      'Ready and Stalled are both True',
    ]);
    expect(told([version({ Ready: 'True' }, { ready: false }), ACTIVE])).to.deep.equal([
      'status.ready is false while Ready is True',
    ]);
  });

  it('notices a role that is called ready before it has its policy', () => {
    const stripped: Sight = { role: { id: 'AROA1', attachedPolicies: [] } };
    const claim = { ...WORKING, IAMFargateRolesReady: 'True' };
    const finding = 'IAMFargateRolesReady became True without a role that has its policy';
    expect(told([version(claim), stripped])).to.deep.equal([finding]);
    expect(told([version(claim), NOTHING])).to.deep.equal([finding]);
    expect(told([version(claim), CREATING])).to.deep.equal([]);
  });

  it('notices work that nobody says he is at, and a deletion that nobody asked for', () => {
    expect(told([version({ Ready: 'False', Reconciling: 'False', Stalled: 'False' }), NOTHING])).to.deep.equal([
      'Ready is False, and nobody is at it: neither Reconciling nor Stalled is True',
    ]);
    expect(told([version({ ...WORKING, Deleting: 'True' }), NOTHING])).to.deep.equal([
      'Deleting is True of an object that is not being deleted',
    ]);
  });

  it('tells for what reasons a condition was ever True', () => {
    const witness = new Witness();
    for (const status of ['True', 'False']) {
      const object = version({});
      const conditions = [{ type: 'Stalled', status, reason: status === 'True' ? 'AccessDenied' : 'NotStalled' }];
      witness.told({ type: 'MODIFIED', object: { ...object, status: { conditions } } }, NOTHING);
    }
    expect(witness.reasonsOf('Stalled')).to.deep.equal(['AccessDenied']);
    expect(witness.reasonsOf('Ready')).to.deep.equal([]);
  });

  it('notices generations that are ahead, and that go back', () => {
    expect(told([version(WORKING, { observedGeneration: 2 }), NOTHING])).to.deep.equal([
      'observedGeneration 2 is ahead of generation 1',
    ]);
    const back = [version({}, { observedGeneration: 2 }, 2), version({}, { observedGeneration: 1 }, 2)] as const;
    expect(told([back[0], NOTHING], [back[1], NOTHING])).to.deep.equal(['observedGeneration went back from 2 to 1']);
  });

  it('notices a provisioning that was none, or is taken back', () => {
    const provisioned = { initialization: { provisioned: true } };
    expect(told([version({}, provisioned), CREATING], [version({}), CREATING])).to.deep.equal([
      `initialization.provisioned was set without ACTIVE ${inSeeing}CREATING)`,
      'initialization.provisioned was taken back',
    ]);
  });

  it('notices an object that is let go before its profile and role', () => {
    const witness = new Witness();
    witness.told({ type: 'ADDED', object: version({}) }, ACTIVE);
    witness.told({ type: 'DELETED', object: version({}) }, ACTIVE);
    expect(witness.findings.map((finding) => finding.replace(/^version \d+: /, ''))).to.deep.equal([
      'the object was let go with its profile ACTIVE',
      'the object was let go with its role in AWS',
    ]);
    expect(witness.latest).to.equal(undefined);
  });
});
