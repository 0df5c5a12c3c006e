import {
  type CheckServices,
  afterSurvey,
  failureBackoffExpired,
  leaseValid,
  newLiveGuards,
  refusalExpired,
  tagsUnchanged,
} from './checks.ts';
import { type DrainServices, drainPredecessor } from './drain-predecessor.ts';
import type { Guard } from './guards.ts';
import {
  type PreparationServices,
  confirmFinalizer,
  recordChange,
  reportNotReady,
  takeTurn,
  writeRecord,
} from './preparations.ts';
import { roleShareable, roleUnused } from './role-users/role-users.ts';

export type GuardServices = CheckServices & PreparationServices & Omit<DrainServices, 'writeRecord'>;

/** All guards, in the order in which they run before each change. */
export function newGuards(services: GuardServices): readonly Guard[] {
  return [
    // The cheapest checks come first. Those without a comment are about each change.
    refusalExpired(services),
    failureBackoffExpired(services), // profiles that EKS has failed to create or delete
    leaseValid(services),
    afterSurvey(), // creations, deletions, and changes of a role
    tagsUnchanged(), // profiles and roles that lack this controller's tags
    roleUnused(services), // removals of a role or its access entry
    // The drain comes before the turn, so that the other objects of the EKS cluster do not wait for pods.
    drainPredecessor({ ...services, writeRecord: (reconcile, record) => writeRecord(services, reconcile, record) }),
    takeTurn(services), // creations and deletions of profiles
    // The next guards come after the turn, so that an object that waits for its turn does not send their requests to the
    // API server, and so that the answers are new when the change is sent.
    confirmFinalizer(services), // creations of profiles and roles
    roleShareable(services), // changes that need a role
    ...newLiveGuards(services), // deletions, and creations for the check of the CRD
    reportNotReady(services), // changes that interrupt pods
    // The record comes last, so that an object that has to wait does not write it.
    recordChange(services),
  ];
}
