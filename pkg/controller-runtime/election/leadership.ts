import type { Ms } from '../env/clock.ts';

/** Tells whether this process is the elected leader at this moment. */
export interface Leadership {
  /** The time until another process can take the lease; 0 or less when it already can. `Infinity` without election. */
  remaining(): Ms;
}
