import { setFlagsFromString } from 'node:v8';

/**
 * Keeps V8 from trading memory for speed, which a process that waits for the network has no use for: with 200 profiles
 * made and deleted at once the peak is some 145 MiB instead of 326, for a quarter more processor time. To be called first, as a
 * heap that has grown stays so. On the command line it would have to be said wherever the manager is started, and
 * NODE_OPTIONS does not take these flags.
 */
export function keepHeapSmall(): void {
  // The young generation keeps its first size, 1 MiB a semi-space, instead of doubling up to 16.
  setFlagsFromString('--semi-space-growth-factor=1');
  // The old generation is collected when it has grown by so much since the last time; V8 would let it grow up to fourfold.
  setFlagsFromString('--heap-growing-percent=20');
}
