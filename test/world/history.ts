import type { Condition, KubeObject } from '../envtest/api.ts';
import { eventually } from '../support/eventually.ts';
import type { World } from './world.ts';

/** Every version of every profile from some moment on, as a watch brings them: what lasted a moment only is there too. */
export interface History {
  of(name: string): readonly KubeObject[];
  /** What a condition of a profile has said, in order, each once. */
  messages(name: string, type: string): readonly string[];
  /** Waits until a version of a profile had a condition of that status and reason, and gives the first such version. */
  had(
    name: string,
    type: string,
    wanted: { readonly status: string; readonly reason: string },
    options?: { readonly timeoutMs?: number },
  ): Promise<KubeObject>;
  /** Waits until a version of a profile had a condition with just these words; `last`: until the newest version has it. */
  said(name: string, type: string, words: string, options?: { readonly last?: boolean }): Promise<KubeObject>;
  stop(): Promise<void>;
}

export function historyOf({ controlPlane }: Pick<World, 'controlPlane'>): History {
  const versions: KubeObject[] = [];
  const stopping = new AbortController();
  const path = '/apis/infrastructure.cluster.x-k8s.io/v1beta2/awsfargateprofiles';
  const watching = (async () => {
    for await (const { object } of controlPlane.api.watch(path, {}, stopping.signal)) versions.push(object);
  })();
  // A watch that breaks shows where it is missed: in the waits below and in `stop`.
  watching.catch(() => undefined);
  const of = (name: string): readonly KubeObject[] => versions.filter(({ metadata }) => metadata.name === name);
  const wait = (
    name: string,
    what: string,
    isWanted: (condition: Condition) => boolean,
    { last = false, timeoutMs = 30_000 }: { readonly last?: boolean; readonly timeoutMs?: number } = {},
  ): Promise<KubeObject> =>
    eventually(
      () => {
        const found = (last ? of(name).slice(-1) : of(name)).find((version) =>
          version.status?.conditions?.some(isWanted),
        );
        if (found === undefined) throw new Error(JSON.stringify(of(name).at(-1)?.status?.conditions));
        return found;
      },
      { what: `${what} of ${name}`, timeoutMs },
    );
  return {
    of,
    messages: (name, type) => [
      ...new Set(
        of(name).flatMap(({ status }) =>
          (status?.conditions ?? []).filter((condition) => condition.type === type).map(({ message = '' }) => message),
        ),
      ),
    ],
    had: (name, type, { status, reason }, options) =>
      wait(
        name,
        `${type}=${status} ${reason}`,
        (condition) => condition.type === type && condition.status === status && condition.reason === reason,
        options,
      ),
    said: (name, type, words, options) =>
      wait(
        name,
        `${type} saying "${words}"`,
        (condition) => condition.type === type && condition.message === words,
        options,
      ),
    stop: async () => {
      stopping.abort();
      await watching;
    },
  };
}
