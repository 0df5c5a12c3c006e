import type { Ms } from '../env/clock.ts';

/** Tells whether this process is the elected leader at this moment. */
export interface Leadership {
  /**
   * Returns how many milliseconds remain until another process can take the lease; 0 or less when another process can
   * already take it. `Infinity` without leader election.
   */
  remaining(): Ms;
}
