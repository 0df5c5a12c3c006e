import { setTimeout as delay } from 'node:timers/promises';
import { matchesWildcard } from '../../pkg/fargate/wildcard.ts';
import type { RemoteAdmin } from '../../test/aws/admin/remote.ts';
import { listAwsResources } from './output/aws-resources.ts';
import { type DemoContext, printAwsResources, runKubectl, withManagerLog } from './profile-demo.ts';

/** How often the stand-in for a pod asks which profile takes it. */
const ASK_EVERY_MS = 100;
/** The new profile is ACTIVE for 30 s before the controller deletes the old one. A busy machine takes longer. */
const DONE_WITHIN_MS = 180_000;
const POD_NAMESPACE = 'web';
const CHANGE = {
  spec: { updateStrategy: { type: 'Replace' }, selectors: [{ namespace: POD_NAMESPACE }, { namespace: 'batch' }] },
};

/**
 * Changes the selectors of the AWSFargateProfile `web`, and shows which profile takes a pod meanwhile.
 * @throws if for a moment no ACTIVE profile takes the pod, or if the old profile stays
 */
export async function showReplacement(context: DemoContext): Promise<void> {
  const { printer, environment, profiles, progress } = context;
  printer.heading('Change the selectors, which EKS cannot change in an existing profile');
  const stop = new AbortController();
  const pod = followPod(context, stop.signal);
  const change = ['patch', 'awsfp', 'web', '--type=merge', `--patch=${JSON.stringify(CHANGE)}`];
  await progress.runCommand(() => runKubectl(context, change));
  const done = profiles.until('the end of the old profile', DONE_WITHIN_MS, ({ metadata, spec, status }) => {
    // The watch may still show the object as it was before the change, which is complete as well.
    const isChanged = spec?.['updateStrategy'] !== undefined;
    const isObserved = status?.['observedGeneration'] === metadata.generation;
    return isChanged && isObserved && status?.['predecessors'] === undefined && status?.['ready'] === true;
  });
  await withManagerLog(environment, Promise.race([done, pod.then(() => undefined)]));
  stop.abort();
  const asked = await pod;
  printer.line(`\nThe pod asked ${asked} times which profile takes it, and always found one.`);

  printer.heading('Resources in AWS');
  printAwsResources(printer, listAwsResources(await environment.aws.snapshot()));
  printer.heading('Status in Kubernetes');
  await runKubectl(context, ['describe', 'awsfargateprofiles']);
}

/** Asks again and again which ACTIVE profile takes a pod, and prints each change of the answer. Returns how often. */
async function followPod(
  { printer, environment }: Pick<DemoContext, 'printer' | 'environment'>,
  signal: AbortSignal,
): Promise<number> {
  let [asked, last] = [0, ''];
  while (!signal.aborted) {
    const taker = await takerOf(environment.aws);
    asked += 1;
    if (taker === undefined) throw new Error(`after ${asked} questions, no ACTIVE profile takes the pod`);
    if (taker !== last) printer.line(`  a pod in namespace ${POD_NAMESPACE} starts on ${taker}`);
    last = taker;
    await delay(ASK_EVERY_MS);
  }
  return asked;
}

/** EKS takes the first profile in the order of their names. */
async function takerOf(aws: RemoteAdmin): Promise<string | undefined> {
  const takers = (await aws.profiles()).filter(
    ({ status, selectors }) =>
      status === 'ACTIVE' &&
      selectors.some(
        ({ namespace, labels }) => matchesWildcard(namespace, POD_NAMESPACE) && Object.keys(labels).length === 0,
      ),
  );
  return takers.map(({ name }) => name).toSorted()[0];
}
