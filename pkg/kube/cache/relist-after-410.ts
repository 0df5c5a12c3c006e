import { isExpired, isNoAnswer, isUndecodable } from '../errors.ts';

/**
 * Whether the reflector must list all objects again after a watch has failed. The API server answers 410 if its history
 * no longer reaches back to the resourceVersion of the watch.
 *
 * If the manager cannot decode a watch event, a new watch from the same resourceVersion would send that event again and
 * again. A list returns the current objects and never that event. If the API server did not answer at all, etcd may have
 * been restored from a backup: reflector-state.ts.
 */
export const mustRelist = (error: unknown): boolean => isExpired(error) || isUndecodable(error) || isNoAnswer(error);

/**
 * Whether the reflector must read a list from its first page again. The API server answers 410 if the continue token of
 * the list has expired. The pages read so far are useless then: they show a resourceVersion that the API server no
 * longer has.
 */
export const mustRestartList = (error: unknown): boolean => isExpired(error);
