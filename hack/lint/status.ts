/**
 * Status is a report: a decision must not depend on it, because a backup, another client or a lost write can change it. These
 * files read the status of an AWSFargateProfile: for reports, for hints of order, for a lost note or Retain, and for the latch
 * `initialization.provisioned`. They give each answer a name, which decisions use.
 */
const READERS: readonly string[] = [
  'controllers/shared/note.ts',
  'controllers/shared/object-state.ts',
  'controllers/awsfargateprofile/report/',
  'controllers/awsfargateprofile/status/',
  'controllers/awsfargateprofile/unreadable.ts',
  // Hints of order.
  'controllers/awsfargateprofile/controller.ts',
  'controllers/awsfargateprofile/watches.ts',
  'controllers/awsfargateprofile/lane.ts',
  'controllers/awsfargateprofile/memory.ts',
  'controllers/awsfargateprofile/model/steady-state.ts',
  'controllers/awsfargateprofile/overlap-controller.ts',
  // In another namespace only the status tells who uses a role: tenants write notes, and cannot write status.
  'controllers/awsfargateprofile/guards/role-users/live-users.ts',
];

/** Names of variables that hold an AWSFargateProfile. */
const OBJECTS: readonly string[] = ['object', 'before', 'other', 'current', 'latest', 'raw'];
const TYPES: readonly string[] = ['AWSFargateProfile', 'KubeObject'];

const isDecision = (file: string): boolean =>
  file.startsWith('controllers/awsfargateprofile/') &&
  !file.endsWith('.test.ts') &&
  !file.includes('/testing/') &&
  !READERS.some((reader) => file === reader || (reader.endsWith('/') && file.startsWith(reader)));

/** Whether a file may not read `<variable>.status`. */
export const isStatusRead = (file: string, variable: string | undefined, property: string | undefined): boolean =>
  isDecision(file) && property === 'status' && variable !== undefined && OBJECTS.includes(variable);

/** Whether a file may not take `status` out of a parameter or variable with this type. */
export const isStatusTaken = (file: string, type: string | undefined, property: string | undefined): boolean =>
  isDecision(file) && property === 'status' && type !== undefined && TYPES.includes(type);
