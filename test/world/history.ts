import type { KubeObject } from '../envtest/api.ts';
import { eventually } from '../support/eventually.ts';
import type { World } from './world.ts';

/** Every version of every profile from some moment on, as a watch brings them: what lasted a moment only is there too. */
export interface History {
  of(name: string): readonly KubeObject[];
  /** Waits until a version of a profile had a condition of that status and reason, and gives the first such version. */
  had(
    name: string,
    type: string,
    wanted: { readonly status: string; readonly reason: string },
    options?: { readonly timeoutMs?: number },
  ): Promise<KubeObject>;
  stop(): Promise<void>;
}

export function historyOf({ controlPlane }: World): History {
  const versions: KubeObject[] = [];
  const stopping = new AbortController();
  const path = '/apis/infrastructure.cluster.x-k8s.io/v1beta2/awsfargateprofiles';
  const watching = (async () => {
    for await (const { object } of controlPlane.api.watch(path, {}, stopping.signal)) versions.push(object);
  })();
  // A watch that breaks shows where it is missed: in `had` and in `stop`.
  watching.catch(() => undefined);
  const of = (name: string): readonly KubeObject[] => versions.filter(({ metadata }) => metadata.name === name);
  return {
    of,
    had: (name, type, { status, reason }, options = {}) =>
      eventually(
        () => {
          const found = of(name).find((version) =>
            version.status?.conditions?.some(
              (condition) => condition.type === type && condition.status === status && condition.reason === reason,
            ),
          );
          if (found === undefined) throw new Error(JSON.stringify(of(name).at(-1)?.status?.conditions));
          return found;
        },
        { what: `${type}=${status} ${reason} of ${name}`, timeoutMs: 30_000, ...options },
      ),
    stop: async () => {
      stopping.abort();
      await watching;
    },
  };
}
