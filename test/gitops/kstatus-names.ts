import { PHASES } from '../simulation/phases/phase-groups.ts';

/**
 * The situations in which the controller has not yet reconciled an object: the object is new, or its spec has changed.
 */
export const UNSEEN = ['new', 'changed'] as const;

/**
 * The names of the test situations for which kstatus computes the status of an object, in the order of the golden file.
 */
export const KSTATUS_NAMES: readonly string[] = [...PHASES.map(({ name }) => name), ...UNSEEN];

export const KSTATUS_GOLDEN = new URL('golden/kstatus.golden', import.meta.url);
