import type { RawCondition, RawObject } from '../envtest/clients/api.ts';
import { eventually } from '../support/eventually.ts';
import type { World } from './world.ts';

/**
 * Every version of every AWSFargateProfile that a watch has sent since `historyOf` was called. Because every version is
 * kept, a test also finds a state that lasts only a moment.
 */
export interface ProfileHistory {
  of(name: string): readonly RawObject[];
  /** The distinct messages that the condition with the given type has had in an AWSFargateProfile, oldest first. */
  messages(name: string, type: string): readonly string[];
  /**
   * Waits until some version of an AWSFargateProfile has a condition with this type, status and reason, and returns the
   * oldest such version.
   */
  waitForCondition(
    name: string,
    type: string,
    wanted: { readonly status: string; readonly reason: string },
  ): Promise<RawObject>;
  /**
   * Waits until some version of an AWSFargateProfile has a condition with this type and exactly this message, and
   * returns the oldest such version.
   * @param options with `last: true`, only the newest version of the AWSFargateProfile counts
   */
  waitForMessage(
    name: string,
    type: string,
    message: string,
    options?: { readonly last?: boolean },
  ): Promise<RawObject>;
  stop(): Promise<void>;
}

export function historyOf({ controlPlane }: Pick<World, 'controlPlane'>): ProfileHistory {
  const versions: RawObject[] = [];
  const stopping = new AbortController();
  const path = '/apis/infrastructure.cluster.x-k8s.io/v1beta2/awsfargateprofiles';
  const watching = (async () => {
    for await (const { object } of controlPlane.api.watch(path, {}, stopping.signal)) versions.push(object);
  })();
  // A failed watch must not be an unhandled rejection. `waitForCondition` and `waitForMessage` then time out, and
  // `stop` throws the error of the watch.
  watching.catch(() => undefined);
  const of = (name: string): readonly RawObject[] => versions.filter(({ metadata }) => metadata.name === name);
  const wait = (
    name: string,
    what: string,
    isWanted: (condition: RawCondition) => boolean,
    { last = false }: { readonly last?: boolean } = {},
  ): Promise<RawObject> =>
    eventually(
      () => {
        const found = (last ? of(name).slice(-1) : of(name)).find((version) =>
          version.status?.conditions?.some(isWanted),
        );
        if (found === undefined) throw new Error(JSON.stringify(of(name).at(-1)?.status?.conditions));
        return found;
      },
      { what: `${what} of ${name}` },
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
    waitForCondition: (name, type, { status, reason }) =>
      wait(
        name,
        `${type}=${status} ${reason}`,
        (condition) => condition.type === type && condition.status === status && condition.reason === reason,
      ),
    waitForMessage: (name, type, message, options) =>
      wait(
        name,
        `the message "${message}" of ${type}`,
        (condition) => condition.type === type && condition.message === message,
        options,
      ),
    stop: async () => {
      stopping.abort();
      await watching;
    },
  };
}
