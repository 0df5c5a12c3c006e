import * as s from '../../api/schema/field.ts';

/** For calls of whose answer nothing is read. */
export const done = s.view(s.anything(), (): void => undefined);
