import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { AwsFailure } from '../errors/failure.ts';

/** One AWS call, which returns its response or its failure. */
export type Call<A> = TaskEither<AwsFailure, A>;
