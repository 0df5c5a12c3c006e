import type { Ms } from '../../pkg/env/clock.ts';

const MINUTE: Ms = 60_000;
const UNITS = { d: 24 * 60 * MINUTE, h: 60 * MINUTE, m: MINUTE };

/** In the largest unit of which there are two, such as `90s` or `36h`. */
export function ageText(age: Ms): string {
  for (const [unit, length] of Object.entries(UNITS))
    if (age >= 2 * length) return `${Math.floor(age / length)}${unit}`;
  return `${Math.max(0, Math.floor(age / 1_000))}s`;
}
