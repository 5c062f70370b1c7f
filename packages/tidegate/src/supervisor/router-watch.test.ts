import type { Pod } from '@tidegate/kube';
import { expect, it } from 'vitest';
import { routerExit } from './router-watch.ts';

type ContainerStatus = NonNullable<NonNullable<Pod['status']>['containerStatuses']>[number];
type State = ContainerStatus['state'];

const pod = (restartCount: number, state: State, lastState?: State, deletionTimestamp?: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'tidegate-router-paris-1-2',
    labels: { 'networking.tidegate.io/router': 'paris' },
    ...(deletionTimestamp !== undefined && { deletionTimestamp }),
  },
  spec: { nodeName: 'node-a', containers: [] },
  status: {
    containerStatuses: [
      {
        name: 'router',
        image: '',
        imageID: '',
        ready: false,
        restartCount,
        state,
        ...(lastState && { lastState }),
      },
    ],
  },
});

const running: State = { running: {} };
const ended = (run: number, exitCode: number, more: { reason?: string; message?: string } = {}): State => ({
  terminated: { exitCode, containerID: `process://${run}`, ...more },
});

it('is reported once for each run: when it ends, or when the next one is seen', () => {
  const exit = {
    router: 'paris',
    node: 'node-a',
    why: 'killed by SIGKILL',
    run: 0,
    containerID: 'process://0',
  };
  expect(routerExit(pod(0, running), pod(0, ended(0, 137)))).toEqual(exit);
  expect(routerExit(pod(0, ended(0, 137)), pod(1, running, ended(0, 137)))).toBeUndefined();
  expect(routerExit(pod(0, running), pod(1, running, ended(0, 137)))).toEqual(exit);
  expect(routerExit(pod(1, running, ended(0, 137)), pod(1, { waiting: {} }, ended(1, 137)))).toEqual({
    ...exit,
    run: 1,
    containerID: 'process://1',
  });
});

it('has the last line of the log as its reason, unless the router was killed', () => {
  const message = 'starting\ntidegate: no class "gold" in the cluster\n';
  expect(routerExit(pod(0, running), pod(0, ended(0, 1, { message })))?.why).toBe(
    'no class "gold" in the cluster',
  );
  expect(routerExit(pod(0, running), pod(0, ended(0, 139, { message })))?.why).toBe('killed by SIGSEGV');
  expect(routerExit(pod(0, running), pod(0, ended(0, 3)))?.why).toBe('exited with code 3');
  const unknown = ended(0, 137, { reason: 'ContainerStatusUnknown' });
  expect(routerExit(pod(0, running), pod(0, unknown))?.why).toBe('it ended while its node was not running');
});

it('is none while the router runs, and when its pod is deleted', () => {
  expect(routerExit(pod(0, running), pod(0, running))).toBeUndefined();
  expect(routerExit(pod(0, running), pod(0, ended(0, 0), undefined, '2026-01-01T00:00:00Z'))).toBeUndefined();
});
