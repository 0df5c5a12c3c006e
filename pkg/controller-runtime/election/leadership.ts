import type { Ms } from '../env/clock.ts';

/** Reports for how long this process remains the elected leader. */
export interface Leadership {
  /**
   * Returns the time until another process can take the lease; 0 or less if it already can. `Infinity` without
   * election.
   */
  remaining(): Ms;
}
