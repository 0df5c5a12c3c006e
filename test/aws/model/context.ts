import type { Input } from './input.ts';
import type { Principal, Principals } from './principals.ts';
import type { Account, Region } from './state.ts';
import type { World } from './world.ts';

/** What an operation may look at: the caller, the place and the moment of one call. */
export interface Context {
  readonly world: World;
  readonly principals: Principals;
  readonly principal: Principal;
  readonly account: Account;
  readonly region: Region;
  readonly now: number;
}

export type Output = Readonly<Record<string, unknown>>;

export interface Operation {
  /** The ARN that an authorization failure names. */
  readonly resource: (input: Input, context: Context) => string;
  readonly run: (input: Input, context: Context) => Output;
  /** Whether a success changes the world. */
  readonly mutates: boolean;
}

export type Operations = Readonly<Record<string, Operation>>;
