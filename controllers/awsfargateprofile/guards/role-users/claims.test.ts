import { expect } from 'chai';
import { ProfileName } from '../../../../api/names.ts';
import { ROLE, ROLE_ARN, aDeletedObject, anObject } from '../../testing/builders.ts';
import { CREATE_PROFILE, CREATE_ROLE, DELETE_ROLE, STRIP_ROLE } from '../../testing/mutations.ts';
import {
  aSimulatedProfile,
  aSimulatedRole,
  awsAsDesired,
  awsWith,
  reconcileStateFor,
} from '../../testing/reconcile-state.ts';
import { Claims } from './claims.ts';

describe('Claims', () => {
  const remover = reconcileStateFor(awsAsDesired(), aDeletedObject());
  const other = { metadata: { namespace: 'team-b' } };
  const user = reconcileStateFor(awsWith(aSimulatedRole()), anObject({ ...other, spec: { roleARN: ROLE_ARN } }));

  it('keep an object of another namespace from using a role whose removal has begun, until its end', () => {
    const claims = new Claims();
    for (const mutation of [STRIP_ROLE, DELETE_ROLE]) expect(claims.tryClaim(mutation, remover)).to.equal(true);
    for (const mutation of [CREATE_PROFILE, CREATE_ROLE]) expect(claims.tryClaim(mutation, user)).to.equal(false);
    claims.release(remover.object);
    for (const mutation of [CREATE_PROFILE, CREATE_ROLE]) expect(claims.tryClaim(mutation, user)).to.equal(true);
  });

  it('keep a role while an object of another namespace creates a profile with it, until its end', () => {
    const claims = new Claims();
    const second = reconcileStateFor(
      awsWith(),
      anObject({ metadata: { namespace: 'team-c' }, spec: { roleARN: ROLE_ARN } }),
    );
    for (const each of [user, second]) expect(claims.tryClaim(CREATE_PROFILE, each)).to.equal(true);
    expect(claims.tryClaim(DELETE_ROLE, remover)).to.equal(false);
    claims.release(user.object);
    expect(claims.tryClaim(DELETE_ROLE, remover)).to.equal(false);
    claims.release(second.object);
    expect(claims.tryClaim(DELETE_ROLE, remover)).to.equal(true);
  });

  it('tell a profile and a role of the same name apart', () => {
    const claims = new Claims();
    const tags = { 'kubernetes.io/cluster/prod': 'owned' };
    const name = ProfileName.of(ROLE);
    const adopter = reconcileStateFor(
      awsWith(aSimulatedProfile({ name, tags })),
      anObject({ spec: { profileName: name } }),
    );
    expect(claims.tryClaim({ kind: 'tagProfile', name, arn: '', tags: {} }, adopter)).to.equal(true);
    expect(claims.tryClaim(DELETE_ROLE, remover)).to.equal(true);
  });

  it('let one of two objects adopt a role, which each of them may adopt', () => {
    const claims = new Claims();
    const untagged = awsWith(aSimulatedRole({ tags: { 'kubernetes.io/cluster/prod': 'owned' } }));
    const [one, two] = [
      reconcileStateFor(untagged),
      reconcileStateFor(untagged, anObject({ ...other, spec: { roleName: ROLE } })),
    ];
    const adopt = { kind: 'tagRole', name: ROLE, tags: {} } as const;
    expect([one, two, one].map((reconcile) => claims.tryClaim(adopt, reconcile))).to.deep.equal([true, false, true]);
    expect(claims.tryClaim(CREATE_PROFILE, user), 'nor may others use it meanwhile').to.equal(false);
    claims.release(two.object);
    expect(claims.tryClaim(adopt, two)).to.equal(false);
  });
});
