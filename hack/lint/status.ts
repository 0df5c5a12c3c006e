/**
 * Status is a report: decisions must not depend on it, because a backup, another client, or a lost write can change it.
 * Only these files may read the status of an AWSFargateProfile: to report, to schedule reconciles, to replace a lost
 * record or a lost deletion policy `Retain`, and to read `initialization.provisioned`, which stays true once set.
 * Decisions call the functions of these files.
 */
const READERS: readonly string[] = [
  'controllers/shared/record.ts',
  'controllers/shared/object-state.ts',
  'controllers/awsfargateprofile/report/',
  'controllers/awsfargateprofile/overlap/',
  'controllers/awsfargateprofile/unreadable.ts',
  // These files use status to schedule reconciles.
  'controllers/awsfargateprofile/controller.ts',
  'controllers/awsfargateprofile/watches.ts',
  'controllers/awsfargateprofile/cluster-queue.ts',
  'controllers/awsfargateprofile/retry-state.ts',
  'controllers/awsfargateprofile/model/at-rest.ts',
  // For objects in other namespaces, only the status shows who uses a role: tenants can write records, but not status.
  'controllers/awsfargateprofile/guards/role-users/live-objects.ts',
];

/** Names of variables that hold an AWSFargateProfile. */
const OBJECTS: readonly string[] = ['object', 'before', 'other', 'current', 'latest', 'raw'];
const TYPES: readonly string[] = ['AWSFargateProfile', 'KubeObject'];

const isDecision = (file: string): boolean =>
  file.startsWith('controllers/awsfargateprofile/') &&
  !file.endsWith('.test.ts') &&
  !file.includes('/testing/') &&
  !READERS.some((reader) => file === reader || (reader.endsWith('/') && file.startsWith(reader)));

/** Reports whether a file must not read `<variable>.status`. */
export const isStatusRead = (file: string, variable: string | undefined, property: string | undefined): boolean =>
  isDecision(file) && property === 'status' && variable !== undefined && OBJECTS.includes(variable);

/** Reports whether a file must not destructure `status` from a parameter or variable of this type. */
export const isStatusTaken = (file: string, type: string | undefined, property: string | undefined): boolean =>
  isDecision(file) && property === 'status' && type !== undefined && TYPES.includes(type);
