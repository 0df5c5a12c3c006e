import * as s from '../../../api/schema/field.ts';

/** The decoder of AWS calls whose response is ignored. */
export const EmptyResponse = s.view(s.anything(), (): void => undefined);
