import { expect } from 'chai';
import type { RawObject } from '../../envtest/clients/api.ts';
import { CAPA_FINALIZER } from '../../world/cluster-api/capa-simulator.ts';
import { CONTROL_PLANE_FINALIZER } from '../../world/cluster-api/cluster-teardown.ts';
import { describeObjectChanges } from './object-changes.ts';

function object(parts: {
  readonly isDeleted?: boolean;
  readonly finalizers?: readonly string[];
  readonly says?: readonly [type: string, status: string, message: string];
}): RawObject {
  const { isDeleted = false, finalizers = [], says } = parts;
  const time = '2026-11-21T00:00:00Z';
  const conditions =
    says === undefined ? [] : [{ type: says[0], status: says[1], reason: 'Because', message: says[2] }];
  return {
    apiVersion: 'x/v1',
    kind: 'X',
    metadata: {
      name: 'x',
      uid: 'x',
      resourceVersion: '1',
      creationTimestamp: time,
      finalizers,
      ...(isDeleted && { deletionTimestamp: time }),
    },
    status: { conditions },
  };
}

describe('the object changes that the demo prints', () => {
  it('contain the deletion and the owners of the finalizers', () => {
    const finalizers = [CAPA_FINALIZER, CONTROL_PLANE_FINALIZER];
    expect(describeObjectChanges(object({ finalizers }), object({ finalizers, isDeleted: true }))).to.deep.equal([
      'is being deleted; has finalizers of the AWS provider and this provider',
    ]);
    expect(describeObjectChanges(object({}), object({ isDeleted: true }))).to.deep.equal(['is being deleted']);
  });

  it('contain removed finalizers and the end of the object', () => {
    const before = object({ finalizers: [CAPA_FINALIZER, CONTROL_PLANE_FINALIZER], isDeleted: true });
    const after = object({ finalizers: [CAPA_FINALIZER], isDeleted: true });
    expect(describeObjectChanges(before, after)).to.deep.equal(['has lost the finalizer of this provider']);
    expect(describeObjectChanges(after, undefined)).to.deep.equal(['is gone']);
    expect(describeObjectChanges(undefined, undefined)).to.deep.equal([]);
  });

  it('contain each condition message once', () => {
    const living = object({ says: ['Ready', 'True', 'all is well'] });
    expect(describeObjectChanges(undefined, living)).to.deep.equal(['says: all is well']);
    expect(describeObjectChanges(living, living)).to.deep.equal([]);
    const leaving = object({ isDeleted: true, says: ['Deleting', 'True', 'waiting for another'] });
    expect(describeObjectChanges(object({ isDeleted: true }), leaving)).to.deep.equal(['says: waiting for another']);
    expect(describeObjectChanges(undefined, object({ says: ['Deleting', 'False', 'not at all'] }))).to.deep.equal([]);
  });
});
