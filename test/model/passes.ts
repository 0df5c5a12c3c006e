import type { KubeObject } from 'controller-runtime/client';
import { answerOfApi, type ApiRequest, type Objects } from './api-server.ts';
import { answerOfAws, type Aws, type AwsRequest } from './aws.ts';
import { type Answered, type ReconcileStart, type Progress, Run } from './reconcile.ts';
import { findUntrueReady } from './safety.ts';
import type { Numbers, SimulatedReconcile } from './world.ts';

/** How many reconciles that wait for an answer are kept for reuse. Each takes some 30 KB of heap. */
const MOST_RUNS = 3_000;

/** The next state of a reconcile: it waits again, or it has ended. */
export type Continued = SimulatedReconcile | (Extract<Progress, { kind: 'ends' }> & { readonly harm?: string });

/**
 * Computes each step of a pass and each answer of the API server and AWS only once. Equal results are the same
 * JavaScript object, so {@link Numbers} finds their numbers without serializing them.
 */
export class Passes {
  private readonly numbers: Numbers;
  private readonly known = new Map<string, Continued>();
  /** The suspended runs. If a run is no longer here, a new run starts and gets all answers of its reconcile again. */
  private readonly runs = new Map<SimulatedReconcile, Run>();
  private readonly ofApi = new Map<string, readonly [KubeObject | undefined, Answered]>();
  private readonly ofAws = new Map<string, readonly [Aws, Answered]>();

  constructor(numbers: Numbers) {
    this.numbers = numbers;
  }

  begun(start: ReconcileStart): Continued | Promise<Continued> {
    const { controller, name, watchFilter = '', memory, cache } = start;
    const objects = Object.values(cache).map((object) => this.numbers.of(object));
    const key = `${controller} ${name} ${watchFilter} ${this.numbers.of(memory)} ${objects.join()}`;
    return this.known.get(key) ?? this.run(key, { start, answered: [], requests: [] }, []);
  }

  /** Continues a reconcile with the answers to its requests. */
  continued(reconcile: SimulatedReconcile, answers: readonly Answered[]): Continued | Promise<Continued> {
    const key = `${this.numbers.of(reconcile)} ${answers.map((each) => this.numbers.of(each)).join()}`;
    return this.known.get(key) ?? this.run(key, reconcile, answers);
  }

  private async run(key: string, reconcile: SimulatedReconcile, answers: readonly Answered[]): Promise<Continued> {
    const { start } = reconcile;
    const answered = [...reconcile.answered, ...answers];
    const waiting = this.runs.get(reconcile);
    this.runs.delete(reconcile);
    const run = waiting ?? new Run(start);
    const progress = await run.go(waiting === undefined ? answered : answers);
    if (progress.kind === 'ends') {
      const harm = start.controller === 'profile' && findUntrueReady(answered);
      const end = { ...progress, ...(harm && { harm }) };
      this.known.set(key, end);
      return end;
    }
    const after: SimulatedReconcile = { start, answered, requests: progress.requests };
    this.numbers.addUnique(after);
    this.known.set(key, after);
    this.runs.set(after, run);
    const [oldest] = this.runs.size > MOST_RUNS ? this.runs.keys() : [];
    if (oldest !== undefined) this.runs.delete(oldest);
    return after;
  }

  answerOfApi(objects: Objects, request: ApiRequest): readonly [Objects, Answered] {
    const { path, verb } = request;
    if (verb === 'list') return [objects, { request, answer: answerOfApi(objects, request)[1] }];
    const { [path]: object, ...others } = objects;
    const key = `${this.numbers.of(object)} ${this.numbers.of(request)}`;
    const known = this.ofApi.get(key);
    if (known === undefined) {
      const [changed, answer] = answerOfApi(object === undefined ? {} : { [path]: object }, request);
      this.ofApi.set(key, [changed[path], { request, answer }]);
      return this.answerOfApi(objects, request);
    }
    const [after, answered] = known;
    if (after === object) return [objects, answered];
    return [after === undefined ? others : { ...objects, [path]: after }, answered];
  }

  answerOfAws(aws: Aws, request: AwsRequest, by: string): readonly [Aws, Answered] {
    const key = `${this.numbers.of(aws)} ${this.numbers.of(request)} ${by}`;
    const known = this.ofAws.get(key);
    if (known !== undefined) return known;
    const [after, answer] = answerOfAws(aws, request, by);
    const made = [after, { request, answer }] as const;
    this.ofAws.set(key, made);
    return made;
  }
}
