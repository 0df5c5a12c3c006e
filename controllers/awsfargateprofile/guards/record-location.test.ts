import { expect } from 'chai';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { PROVISIONED_IN_ANNOTATION } from '../../../api/v1beta2/index.ts';
import { fieldAt } from '../../../api/record.ts';
import { plan } from '../decide/plan.ts';
import type { Observed } from '../model/observed-state.ts';
import { HERE, aDeletedObject, aProfile, aRole, anObject, desiredOf, observed } from '../testing/builders.ts';
import { FOREIGN_TAGS } from '../testing/fixtures.ts';
import { recordLocation } from './record-location.ts';

const { signal } = new AbortController();
const damaged = anObject({ metadata: { annotations: { [PROVISIONED_IN_ANNOTATION]: 'damaged' } } });
const theirs = observed({ profile: aProfile({ tags: FOREIGN_TAGS }) });
const gone: Observed = { ...observed({ role: aRole() }), cluster: 'gone' };

describe('recordLocation', () => {
  const rows: readonly (readonly [string, AWSFargateProfile, Observed, recorded?: string])[] = [
    ['writes where the first change will be', anObject(), observed({}), HERE],
    ['waits for a change, because a profile without tags may have the name', anObject(), theirs],
    ['corrects another record at once', damaged, theirs, HERE],
    ['writes nothing of an EKS cluster that is gone', damaged, gone],
    ['leaves a deletion to its mark', aDeletedObject(), observed({})],
  ];
  for (const [what, object, seen, recorded] of rows)
    it(what, async () => {
      let written: unknown;
      const patchMetadata = async (_object: AWSFargateProfile, patch: object | undefined) => {
        written = fieldAt(fieldAt(fieldAt(patch, 'metadata'), 'annotations'), PROVISIONED_IN_ANNOTATION);
        return object;
      };
      const services = { profileWriter: { patchMetadata }, retryStore: { recordNoCreateSent: () => {} } };
      const desired = desiredOf(object);
      await recordLocation(services, object, { desired, observed: seen, plan: plan(desired, seen) }, signal);
      expect(written).to.equal(recorded);
    });
});
