import type { Endpoints } from '../endpoints.ts';

/** AWS' own. */
export const AWS_ENDPOINTS: Endpoints = { of: () => undefined, fips: false, dualStack: false };
