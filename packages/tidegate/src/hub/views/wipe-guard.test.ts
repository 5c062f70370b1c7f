import { KubeClient, NODES, PODS, type Resource, SERVICES, silentLogger } from '@tidegate/kube';
import { answerJson, FakeServer } from '@tidegate/kube/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { itemOf } from './item.ts';
import type { ViewKey } from './view.ts';
import { type WipeGuard, wipeGuard } from './wipe-guard.ts';

describe('the guard of what the node runs on', () => {
  let server: FakeServer;
  let client: KubeClient;
  let uid: string | undefined;
  let doubts: number;
  let guard: WipeGuard;

  beforeEach(async () => {
    server = new FakeServer();
    client = new KubeClient(await server.start());
    uid = 'the-uid';
    doubts = 0;
    answerNode({ kind: 'Node', metadata: { name: 'edge', uid } });
    guard = wipeGuard({
      client,
      nodeName: 'edge',
      knownUid: async () => uid,
      log: silentLogger,
      onDoubt: () => doubts++,
    });
  });
  afterEach(async () => {
    await client.close();
    await server.stop();
  });

  const answerNode = (body: unknown, code = 200): void => {
    server.intercept = ({ url }, response) =>
      url.pathname === '/api/v1/nodes/edge' && answerJson(response, body, code);
  };
  const believes = async (
    view: { resource?: Resource; identity?: string; size?: number },
    list: Parameters<WipeGuard>[1] = [],
  ): Promise<boolean> => {
    const { resource = PODS, identity = 'node', size = 3 } = view;
    const key: ViewKey = {
      identity,
      resource,
      namespace: '',
      labelSelector: '',
      fieldSelector: 'spec.nodeName=edge',
    };
    const believed = await guard({ key, size }, list, new AbortController().signal);
    expect(doubts).toBe(believed ? 0 : 1);
    return believed;
  };

  it('asks nothing when nothing is at stake', async () => {
    const pod = itemOf({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' } }, PODS);
    expect(await believes({}, [pod])).toBe(true);
    expect(await believes({ size: 0 })).toBe(true);
    expect(await believes({ resource: SERVICES })).toBe(true);
    expect(await believes({ identity: 'sa:default:app:1' })).toBe(true);
    expect(server.requests).toEqual([]);
  });

  it('believes an empty list that comes twice from a server that knows the node', async () => {
    expect(await believes({})).toBe(true);
    const [list, get] = server.requests;
    expect(list!.url.searchParams.get('fieldSelector')).toBe('spec.nodeName=edge');
    expect(list!.url.searchParams.has('resourceVersion')).toBe(false);
    expect(get!.url.pathname).toBe('/api/v1/nodes/edge');
  });

  it('does not believe it when a second list is not empty', async () => {
    server.put('a');
    expect(await believes({})).toBe(false);
  });

  it('does not believe a server that does not know the node', async () => {
    answerNode({ kind: 'Status', reason: 'NotFound', code: 404 }, 404);
    expect(await believes({})).toBe(false);
    doubts = 0;
    expect(await believes({ resource: NODES })).toBe(false);
  });

  it('does not believe a server that knows another node by this name', async () => {
    uid = 'another';
    expect(await believes({})).toBe(false);
  });

  it('is none the wiser when the server does not answer', async () => {
    answerNode({}, 500);
    await expect(believes({})).rejects.toThrow();
    expect(doubts).toBe(0);
  });
});
