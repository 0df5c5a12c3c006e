import type { Ms } from '../env/clock.ts';

export interface Leadership {
  /**
   * Returns the time until another process can take the lease; 0 or less if it already can. `Infinity` without
   * election.
   */
  remaining(): Ms;
}
