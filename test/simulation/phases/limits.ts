import { type Phases, WEB, patchWeb } from './phase.ts';

const POLICY = 'arn:aws:iam::aws:policy/AdministratorAccess';
const ONLY_LOGS = ['--allow-policy-arn=arn:aws:iam::aws:policy/CloudWatch*', '--allow-role-arn=none'];

/** Situations in which a spec exceeds what the manager's flags allow. */
export const LIMITS: Phases = {
  'not-allowed-by-operator': {
    title: 'a new object that names a policy which the operator does not allow',
    arrange: (world) => {
      world.start(...ONLY_LOGS);
      world.applyWith(WEB, { roleAdditionalPolicies: [POLICY] });
    },
    until: ['Stalled', 'True', 'NotAllowedByOperator'],
    remedy: (world) => patchWeb(world, { spec: { roleAdditionalPolicies: null } }),
  },
  'not-allowed-by-operator-while-ready': {
    title: 'a Ready profile whose new policy the operator does not allow',
    arrange: async (world) => {
      const manager = await world.startWithReady(WEB);
      await world.stop(manager);
      world.start(...ONLY_LOGS);
      patchWeb(world, { spec: { roleAdditionalPolicies: [POLICY] } });
    },
    until: ['Stalled', 'True', 'NotAllowedByOperator'],
    remedy: (world) => patchWeb(world, { spec: { roleAdditionalPolicies: null } }),
  },
};
