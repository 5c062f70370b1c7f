import { ApiStatusError, type KubeClient, type KubeObject, type Pod, type Target } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import { podLogs } from './pod-logs.ts';

type ContainerStatus = NonNullable<NonNullable<Pod['status']>['containerStatuses']>[number];

const pod = (name: string, container: Partial<ContainerStatus>, metadata: object = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, uid: name, labels: { 'app.kubernetes.io/part-of': 'tidegate' }, ...metadata },
  status: {
    containerStatuses: [
      { name: 'manager', image: 'i', imageID: 'i', ready: false, restartCount: 0, ...container },
    ],
  },
});
const RUNNING = { containerID: 'containerd://2', state: { running: {} } };
const failure = (code: number, reason: string): ApiStatusError =>
  new ApiStatusError({ apiVersion: 'v1', kind: 'Status', status: 'Failure', code, reason, metadata: {} });

interface World {
  pods: Pod[];
  /** What is stored when the log was refused. By default the same pods. */
  later?: Pod[];
  /** Logs that the kubelet does not have, by pod. */
  refused?: Record<string, ApiStatusError>;
}

/** The files, the requests for logs, and what is reported as a problem. */
async function read({ pods, later = pods, refused = {} }: World): Promise<{
  files: Record<string, string>;
  requests: string[];
  problems: string[];
}> {
  const files: Record<string, string> = {};
  const requests: string[] = [];
  const client = {
    list: async () => ({ items: pods }),
    get: async (_: unknown, { name }: Target): Promise<KubeObject> => {
      const found = later.find(({ metadata }) => metadata.name === name);
      if (found === undefined) throw failure(404, 'NotFound');
      return found;
    },
    text: async (path: string) => {
      const [, name = ''] = /pods\/([^/]+)\/log/.exec(path) ?? [];
      requests.push(`${name}${path.includes('previous=true') ? ' previous' : ''}`);
      if (refused[name]) throw refused[name];
      return 'started\n';
    },
  } as unknown as KubeClient;
  const write = (name: string, text: string): void => {
    files[name] = text;
  };
  const problems = await podLogs(client, 'system', new AbortController().signal, write);
  return { files, requests, problems };
}

describe('logs of pods', () => {
  it('are read of a container that runs, and of the one before it', async () => {
    const lastState = { terminated: { exitCode: 1, containerID: 'containerd://1' } };
    const { files, problems } = await read({ pods: [pod('a', { ...RUNNING, restartCount: 1, lastState })] });
    expect(files).toEqual({
      'system/logs/a.manager.log': 'started\n',
      'system/logs/a.manager.previous.log': 'started\n',
    });
    expect(problems).toEqual([]);
  });

  it('are not requested of a container that has never started, or whose predecessor is gone', async () => {
    const { requests } = await read({
      pods: [
        pod('a', { state: { waiting: { reason: 'ErrImagePull' } } }),
        pod('b', { ...RUNNING, restartCount: 1, lastState: {} }),
      ],
    });
    expect(requests).toEqual(['b']);
  });

  it('that cannot be read are a problem', async () => {
    const { problems } = await read({
      pods: [pod('a', RUNNING)],
      refused: { a: failure(403, 'Forbidden') },
    });
    expect(problems).toEqual([expect.stringContaining('a: ')]);
  });

  it('of pods that are being deleted, deleted or replaced are left out, with a word about it', async () => {
    const leaving = pod('leaving', RUNNING, { deletionTimestamp: '2026-01-01T00:00:00Z' });
    const { files, problems } = await read({
      pods: [leaving, pod('gone', RUNNING), pod('replaced', RUNNING), pod('stays', RUNNING)],
      later: [leaving, pod('replaced', RUNNING, { uid: 'other' }), pod('stays', RUNNING)],
      refused: {
        leaving: failure(400, 'BadRequest'),
        gone: failure(404, 'NotFound'),
        replaced: failure(404, 'NotFound'),
      },
    });
    expect(problems).toEqual([]);
    expect(Object.keys(files)).toEqual(['system/logs/stays.manager.log', 'system/logs-left-out.txt']);
    for (const name of ['leaving', 'gone', 'replaced'])
      expect(files['system/logs-left-out.txt']).toContain(`${name}: deleted`);
  });

  it('of pods of others are left out', async () => {
    const { files, requests } = await read({ pods: [pod('foreign', RUNNING, { labels: {} })] });
    expect(requests).toEqual([]);
    expect(files['system/logs-left-out.txt']).toContain('foreign: not a pod of Tidegate');
  });
});
