import { expect } from 'chai';
import type { Condition, KubeList, KubeObject, WatchEvent } from '../envtest/api.ts';
import { Profiles, type News, type Source } from './profiles.ts';

const profile = (name: string, ...conditions: readonly Condition[]): KubeObject => ({
  apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta2',
  kind: 'AWSFargateProfile',
  metadata: { name, namespace: 'default', uid: name, resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' },
  status: { conditions },
});

const ready = (status: string, message = ''): Condition => ({ type: 'Ready', status, reason: 'Because', message });

/** Answers each list with the next of `rounds`, whose events the watch after it gives and then ends. */
function source(stop: AbortController, rounds: readonly { list: KubeObject[]; events?: WatchEvent[] }[]): Source {
  let round = -1;
  return {
    list: <T>() => {
      round += 1;
      const items = (rounds[round]?.list ?? []) as T[];
      return Promise.resolve<KubeList<T>>({ metadata: { resourceVersion: String(round) }, items });
    },
    watch: async function* <T>(_path: string, query?: object) {
      expect(query).to.deep.equal({ resourceVersion: String(round) });
      for (const event of rounds[round]?.events ?? []) yield (await Promise.resolve(event)) as WatchEvent<T>;
      if (round === rounds.length - 1) stop.abort();
    },
  };
}

async function follow(...rounds: readonly { list: KubeObject[]; events?: WatchEvent[] }[]) {
  const stop = new AbortController();
  const news: News[] = [];
  const profiles = new Profiles(source(stop, rounds), (each) => news.push(each));
  await profiles.follow(stop.signal);
  return { profiles, news };
}

const lines = (news: readonly News[]): readonly string[] =>
  news.map((each) =>
    each.kind === 'gone'
      ? `${each.name} gone`
      : `${each.name} ${each.changes.map(({ type, status }) => `${type} ${status}`).join(', ')}`,
  );

describe('the profiles that the demo follows', () => {
  it('are told of as they change and go', async () => {
    const { news } = await follow({
      list: [profile('a')],
      events: [
        { type: 'MODIFIED', object: profile('a', ready('False')) },
        { type: 'MODIFIED', object: profile('a', ready('False')) },
        { type: 'ADDED', object: profile('b', ready('Unknown')) },
        { type: 'MODIFIED', object: profile('a', ready('True')) },
        { type: 'DELETED', object: profile('b', ready('Unknown')) },
      ],
    });
    expect(lines(news)).to.deep.equal(['a Ready False', 'b Ready Unknown', 'a Ready True', 'b gone']);
  });

  it('are listed again when a watch ends or fails, and nothing is missed or told twice', async () => {
    const { news, profiles } = await follow(
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
    expect(lines(news)).to.deep.equal(['a Ready False', 'b Ready True', 'b gone', 'a Ready True']);
    expect(profiles.names()).to.deep.equal(['a']);
  });

  it('have their namespace in the name where it is not the default one', async () => {
    const object = profile('a', ready('True'));
    const { profiles } = await follow({ list: [{ ...object, metadata: { ...object.metadata, namespace: 'x' } }] });
    expect(profiles.names()).to.deep.equal(['x/a']);
  });

  it('are waited for, and what they say last is in the error when it takes too long', async () => {
    const { profiles } = await follow({
      list: [profile('a', ready('True')), profile('b', ready('False', 'it hangs'))],
    });
    const late = await profiles.untilReady(0).catch((error: unknown) => String(error));
    expect(late).to.contain('did not come about within').and.to.contain('b says Because: it hangs');
    expect(late).not.to.contain('a says');
    expect(await profiles.untilGone(0).catch(() => 'late')).to.equal('late');

    const none = (await follow({ list: [] })).profiles;
    await none.untilGone(0);
    expect(await none.untilReady(0).catch(String)).to.contain('there is none');

    const all = (await follow({ list: [profile('a', ready('True'))] })).profiles;
    await all.untilReady(0);
  });
});
