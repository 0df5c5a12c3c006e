import { expect } from 'chai';
import type { KubeObject } from '../envtest/api.ts';
import { CAPA_FINALIZER } from '../world/capa.ts';
import { GUARD } from '../world/cluster-teardown.ts';
import { happeningsOf } from './happenings.ts';

function object(parts: {
  readonly isDeleted?: boolean;
  readonly finalizers?: readonly string[];
  readonly says?: readonly [type: string, status: string, message: string];
}): KubeObject {
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

describe('what the demo tells of an object that goes', () => {
  it('is that it is deleted, and who keeps it', () => {
    const finalizers = [CAPA_FINALIZER, GUARD];
    expect(happeningsOf(object({ finalizers }), object({ finalizers, isDeleted: true }))).to.deep.equal([
      'is being deleted; kept for now by the AWS provider and this provider',
    ]);
    expect(happeningsOf(object({}), object({ isDeleted: true }))).to.deep.equal(['is being deleted']);
  });

  it('is who keeps it no longer, and its end', () => {
    const before = object({ finalizers: [CAPA_FINALIZER, GUARD], isDeleted: true });
    const after = object({ finalizers: [CAPA_FINALIZER], isDeleted: true });
    expect(happeningsOf(before, after)).to.deep.equal(['is no longer kept by this provider']);
    expect(happeningsOf(after, undefined)).to.deep.equal(['is gone']);
    expect(happeningsOf(undefined, undefined)).to.deep.equal([]);
  });

  it('is what its conditions say, each sentence once', () => {
    const living = object({ says: ['Ready', 'True', 'all is well'] });
    expect(happeningsOf(undefined, living)).to.deep.equal(['says: all is well']);
    expect(happeningsOf(living, living)).to.deep.equal([]);
    const leaving = object({ isDeleted: true, says: ['Deleting', 'True', 'waiting for another'] });
    expect(happeningsOf(object({ isDeleted: true }), leaving)).to.deep.equal(['says: waiting for another']);
    expect(happeningsOf(undefined, object({ says: ['Deleting', 'False', 'not at all'] }))).to.deep.equal([]);
  });
});
