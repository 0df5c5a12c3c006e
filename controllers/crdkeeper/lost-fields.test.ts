import { expect } from 'chai';
import type { KubeObject } from 'controller-runtime/client';
import { crd } from '../../api/v1beta2/crd.ts';
import { RETAIN_ANNOTATION } from '../../api/v1beta2/index.ts';
import { FULL_RECORD, anObject, type ObjectParts } from '../awsfargateprofile/testing/builders.ts';
import { fieldsDroppedBy } from '../shared/crd/crd-schema.ts';
import { KnownFields } from './lost-fields.ts';

const DROPPED = ['spec.deletionPolicy', 'spec.roleAdditionalPolicies', 'status.account', 'status.region'];
const POLICIES = { roleAdditionalPolicies: ['arn:aws:iam::aws:policy/ReadOnly'] };
const object = (parts: ObjectParts = {}): KubeObject => ({ ...anObject(parts) });
const fieldsOf = (known: KnownFields, after: KubeObject): readonly string[] =>
  known.lossesOf([after], DROPPED).flatMap(({ fields }) => fields);

describe('the fields that an object lost', () => {
  it('are those that it had under our CRD and does not have any more', () => {
    const known = new KnownFields();
    known.replace([object({ spec: { ...POLICIES, deletionPolicy: 'Retain' } })]);
    expect(fieldsOf(known, object({ spec: { deletionPolicy: 'Retain' } }))).to.deep.equal([
      'spec.roleAdditionalPolicies',
    ]);
    expect(fieldsOf(known, object({ spec: { ...POLICIES, deletionPolicy: 'Retain' } }))).to.deep.equal([]);
  });

  it('include those that only the cache had when the foreign CRD came', () => {
    const known = new KnownFields();
    known.replace([object()]);
    known.extend([object({ spec: POLICIES })]);
    known.extend([object()]);
    expect(fieldsOf(known, object())).to.deep.equal(['spec.roleAdditionalPolicies']);
  });

  it('are known from the annotations of the object after a restart of the manager', () => {
    const retained = object({ metadata: { annotations: { [RETAIN_ANNOTATION]: 'true' } }, record: FULL_RECORD });
    expect(fieldsOf(new KnownFields(), retained)).to.deep.equal([
      'spec.deletionPolicy',
      'status.account',
      'status.region',
    ]);
    expect(fieldsOf(new KnownFields(), object())).to.deep.equal([]);
  });

  it('can only be fields that the other CRD does not have', () => {
    const other = { ...crd, metadata: { name: 'a', uid: 'u', resourceVersion: '1' } };
    expect(fieldsDroppedBy(other)).to.deep.equal([]);
    const withoutSchema = { ...other, spec: { versions: [] } };
    expect(fieldsDroppedBy(withoutSchema)).to.include.members(['spec.clusterName', 'status.role']);
  });
});
