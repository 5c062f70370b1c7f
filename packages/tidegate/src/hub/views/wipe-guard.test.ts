import { KubeClient, NODES, PODS, type Resource, SERVICES, silentLogger } from '@tidegate/kube';
import { answerJson, FakeServer } from '@tidegate/kube/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { itemOf } from './item.ts';
import type { ViewKey } from './view.ts';
import { type WipeGuard, wipeGuard } from './wipe-guard.ts';

describe('wipeGuard', () => {
  let server: FakeServer;
  let client: KubeClient;
  let uid: string | undefined;
  let rejections: number;
  let guard: WipeGuard;

  beforeEach(async () => {
    server = new FakeServer();
    client = new KubeClient(await server.start());
    uid = 'the-uid';
    rejections = 0;
    answerNode({ kind: 'Node', metadata: { name: 'edge', uid } });
    guard = wipeGuard({
      client,
      nodeName: 'edge',
      knownUid: async () => uid,
      log: silentLogger,
      onRejected: () => rejections++,
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
  const accepts = async (
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
    const accepted = await guard({ key, size }, list, new AbortController().signal);
    expect(rejections).toBe(accepted ? 0 : 1);
    return accepted;
  };

  it('accepts a list without requests if the list is not empty, the view is empty or the view is not guarded', async () => {
    const pod = itemOf({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' } }, PODS);
    expect(await accepts({}, [pod])).toBe(true);
    expect(await accepts({ size: 0 })).toBe(true);
    expect(await accepts({ resource: SERVICES })).toBe(true);
    expect(await accepts({ identity: 'sa:default:app:1' })).toBe(true);
    expect(server.requests).toEqual([]);
  });

  it('accepts an empty list if a second list is empty and the server has this Node', async () => {
    expect(await accepts({})).toBe(true);
    const [list, get] = server.requests;
    expect(list!.url.searchParams.get('fieldSelector')).toBe('spec.nodeName=edge');
    expect(list!.url.searchParams.has('resourceVersion')).toBe(false);
    expect(get!.url.pathname).toBe('/api/v1/nodes/edge');
  });

  it('rejects an empty list if a second list is not empty', async () => {
    server.put('a');
    expect(await accepts({})).toBe(false);
  });

  it('rejects an empty list from a server that does not have this Node', async () => {
    answerNode({ kind: 'Status', reason: 'NotFound', code: 404 }, 404);
    expect(await accepts({})).toBe(false);
    rejections = 0;
    expect(await accepts({ resource: NODES })).toBe(false);
  });

  it('rejects an empty list from a server whose Node of this name has another uid', async () => {
    uid = 'another';
    expect(await accepts({})).toBe(false);
  });

  it('fails without a decision if the server returns an error', async () => {
    answerNode({}, 500);
    await expect(accepts({})).rejects.toThrow();
    expect(rejections).toBe(0);
  });
});
