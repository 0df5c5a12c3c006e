import { isExpired, isNoAnswer, isUndecodable } from '../errors.ts';

/**
 * Whether the reflector must list all objects again after a watch has failed. Three failures require a new list:
 *
 * - The API server answers 410, because its history no longer reaches back to the resourceVersion of the watch.
 * - The manager cannot decode a watch event. A new watch from the same resourceVersion would send that event again and
 *   again. A list returns the current objects and never that event.
 * - The API server did not answer at all. An administrator may have restored etcd from a backup meanwhile, so that the
 *   store has changes that etcd has lost.
 */
export const mustRelist = (error: unknown): boolean => isExpired(error) || isUndecodable(error) || isNoAnswer(error);

/**
 * Whether the reflector must read a list from its first page again. The API server answers 410 if the continue token of
 * the list has expired. The pages read so far are useless then: they show a resourceVersion that the API server no
 * longer has.
 */
export const mustRestartList = (error: unknown): boolean => isExpired(error);
