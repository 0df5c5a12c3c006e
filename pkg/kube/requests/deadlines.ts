import type { Ms } from '../../env/clock.ts';

/**
 * The default deadline of a request to the API server: an admission webhook may take 30 s at most, and the API server
 * rarely needs more for a write.
 */
export const REQUEST_DEADLINE: Ms = 30_000;
/**
 * The deadline of a list: the default of kube-apiserver's flag `--request-timeout`, after which kube-apiserver itself
 * aborts the list.
 */
export const LIST_DEADLINE: Ms = 60_000;
