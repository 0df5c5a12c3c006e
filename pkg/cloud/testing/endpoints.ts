import type { Endpoints } from '../endpoints.ts';

/** The settings with which the SDK calls AWS's own endpoints. */
export const AWS_ENDPOINTS: Endpoints = { urlFor: () => undefined, fips: false, dualStack: false };
