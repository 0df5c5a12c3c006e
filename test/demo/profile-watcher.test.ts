import { expect } from 'chai';
import type { RawCondition, RawList, RawObject, RawWatchEvent } from '../envtest/clients/api.ts';
import { ProfileWatcher, type ProfileUpdate, type ProfileSource } from './profile-watcher.ts';

const profile = (name: string, ...conditions: readonly RawCondition[]): RawObject => ({
  apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta2',
  kind: 'AWSFargateProfile',
  metadata: { name, namespace: 'default', uid: name, resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' },
  status: { conditions },
});

const ready = (status: string, message = ''): RawCondition => ({ type: 'Ready', status, reason: 'Because', message });

/**
 * Returns a fake API client. Each call of `list` takes the next element of `rounds` and returns its objects. The
 * following watch delivers the events of the same element and then ends.
 */
function source(
  stop: AbortController,
  rounds: readonly { list: RawObject[]; events?: RawWatchEvent[] }[],
): ProfileSource {
  let round = -1;
  return {
    list: <T>() => {
      round += 1;
      const items = (rounds[round]?.list ?? []) as T[];
      return Promise.resolve<RawList<T>>({ metadata: { resourceVersion: String(round) }, items });
    },
    watch: async function* <T>(_path: string, query?: object) {
      expect(query).to.deep.equal({ resourceVersion: String(round) });
      for (const event of rounds[round]?.events ?? []) yield (await Promise.resolve(event)) as RawWatchEvent<T>;
      if (round === rounds.length - 1) stop.abort();
    },
  };
}

async function follow(...rounds: readonly { list: RawObject[]; events?: RawWatchEvent[] }[]) {
  const stop = new AbortController();
  const progress: ProfileUpdate[] = [];
  const profiles = new ProfileWatcher(source(stop, rounds), (each) => progress.push(each));
  await profiles.follow(stop.signal);
  return { profiles, progress };
}

const lines = (progress: readonly ProfileUpdate[]): readonly string[] =>
  progress.map((each) =>
    each.kind === 'gone'
      ? `${each.name} gone`
      : `${each.name} ${each.changes.map(({ type, status }) => `${type} ${status}`).join(', ')}`,
  );

describe('the profile watcher of the demo', () => {
  it('reports changes and deletions', async () => {
    const { progress } = await follow({
      list: [profile('a')],
      events: [
        { type: 'MODIFIED', object: profile('a', ready('False')) },
        { type: 'MODIFIED', object: profile('a', ready('False')) },
        { type: 'ADDED', object: profile('b', ready('Unknown')) },
        { type: 'MODIFIED', object: profile('a', ready('True')) },
        { type: 'DELETED', object: profile('b', ready('Unknown')) },
      ],
    });
    expect(lines(progress)).to.deep.equal(['a Ready False', 'b Ready Unknown', 'a Ready True', 'b gone']);
  });

  it('lists again after the end of a watch, without missing or repeating a change', async () => {
    const { progress, profiles } = await follow(
      { list: [profile('a', ready('False')), profile('b', ready('True'))] },
      {
        list: [profile('a', ready('True'))],
        events: [
          { type: 'ERROR', object: profile('410 Gone') },
          { type: 'DELETED', object: profile('a') },
        ],
      },
      { list: [profile('a', ready('True'))] },
    );
    expect(lines(progress)).to.deep.equal(['a Ready False', 'b Ready True', 'b gone', 'a Ready True']);
    expect(profiles.names()).to.deep.equal(['a']);
  });

  it('prefixes names with a namespace other than default', async () => {
    const object = profile('a', ready('True'));
    const { profiles } = await follow({ list: [{ ...object, metadata: { ...object.metadata, namespace: 'x' } }] });
    expect(profiles.names()).to.deep.equal(['x/a']);
  });

  it('waits for profiles, and names their last status after a timeout', async () => {
    const { profiles } = await follow({
      list: [profile('a', ready('True')), profile('b', ready('False', 'it hangs'))],
    });
    const late = await profiles.untilReady(0).catch((error: unknown) => String(error));
    expect(late).to.contain('timed out after').and.to.contain('b says Because: it hangs');
    expect(late).not.to.contain('a says');
    expect(await profiles.untilGone(0).catch(() => 'late')).to.equal('late');

    const none = (await follow({ list: [] })).profiles;
    await none.untilGone(0);
    expect(await none.untilReady(0).catch(String)).to.contain('there is none');

    const all = (await follow({ list: [profile('a', ready('True'))] })).profiles;
    await all.untilReady(0);
  });
});
