import type { Pod } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import type { L7Router } from '../api/index.ts';
import { doorNotReady, nodeNotReady, notReadyText } from './not-ready.ts';

const call = (command: string): string => `tidegate ${command}`;
const pod = (status: Pod['status'], nodeName: string | undefined = 'node-a'): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'ingress', name: 'r-1', labels: { 'networking.tidegate.io/router': 'paris' } },
  spec: { containers: [], nodeName },
  status,
});
const router = (status: L7Router['status']): L7Router => ({
  apiVersion: 'networking.tidegate.io/v1alpha1',
  kind: 'L7Router',
  metadata: { name: 'paris' },
  spec: { ingressClassName: 'paris', driver: 'nginx' },
  status,
});
const door = (pods: Pod[], status: L7Router['status'] = {}): string =>
  notReadyText(doorNotReady('paris', { pods, routers: [router(status)] }), call);

describe('a front door that is not ready', () => {
  it('names the pod that crashes, why, and where its log is', () => {
    const container = {
      name: 'router',
      ready: false,
      restartCount: 3,
      image: '',
      imageID: '',
      state: { waiting: { reason: 'CrashLoopBackOff' } },
      lastState: {
        terminated: {
          exitCode: 1,
          message: '{"level":30,"msg":"starting"}\ntidegate: port 8080 is already in use; choose another\n',
        },
      },
    };
    expect(door([pod({ containerStatuses: [container] })])).toBe(
      'front door paris: pod ingress/r-1 is in CrashLoopBackOff: port 8080 is already in use; choose another; see `tidegate logs router paris`',
    );
  });

  it('names the reason why its pod is not scheduled', () => {
    const condition = { type: 'PodScheduled', status: 'False' as const, message: '0/5 nodes are available' };
    const unscheduled = { ...pod({ conditions: [condition] }), spec: { containers: [] } };
    expect(door([unscheduled])).toContain('pod ingress/r-1 is not scheduled: 0/5 nodes are available');
  });

  it('has the message of its L7Router if its pods run', () => {
    const ready = {
      type: 'Ready',
      status: 'False' as const,
      reason: 'NoPodReady',
      message: 'no pod is ready',
      lastTransitionTime: '',
    };
    expect(door([pod({})], { conditions: [ready] })).toContain('front door paris: no pod is ready;');
    expect(door([], { conditions: [{ ...ready, status: 'True' }] })).toContain(
      'does not answer requests yet',
    );
    expect(door([])).toContain('has no status yet; see `tidegate logs manager`');
  });

  it('names a pod behind it that does not run if the router itself is ready', () => {
    const ready = {
      type: 'Ready',
      status: 'True' as const,
      reason: 'Ready',
      message: '',
      lastTransitionTime: '',
    };
    const message = 'port 8080 on 127.64.1.2 is already in use';
    const container = {
      name: 'nginx',
      image: '',
      imageID: '',
      ready: false,
      restartCount: 3,
      state: { waiting: { reason: 'CrashLoopBackOff' } },
      lastState: { terminated: { exitCode: 1, message } },
    };
    const shop = pod({ containerStatuses: [container] });
    const application = { ...shop, metadata: { name: 'shop-1', namespace: 'default' } };
    expect(door([pod({}), application], { conditions: [ready] })).toContain(
      `front door paris: it does not answer requests yet (pod default/shop-1 is in CrashLoopBackOff: ${message});`,
    );
  });

  it('has what a request to it got if its router answers', () => {
    const ready = { type: 'Ready', status: 'True' as const, reason: '', message: '', lastTransitionTime: '' };
    const seen = { pods: [pod({})], routers: [router({ conditions: [ready] })] };
    const why = (status: number) =>
      doorNotReady('paris', seen, { failure: { status, host: 'shop.example.com' } }).why;
    expect(why(503)).toBe('it answers 503 for shop.example.com: no endpoint is ready');
    expect(why(502)).toBe('it answers 502 for shop.example.com');
    const silent = ['http://127.64.0.2:30080', 'http://127.64.0.3:30080'];
    expect(doorNotReady('paris', seen, { silent }).why).toBe(
      'it does not answer requests yet at http://127.64.0.2:30080, http://127.64.0.3:30080',
    );
  });

  it('has a pod that was restarted and is not ready yet', () => {
    const container = { name: 'router', ready: false, restartCount: 1, image: '', imageID: '' };
    const lastState = { terminated: { exitCode: 0 } };
    const restarted = { ...container, lastState, state: { running: {} } };
    expect(door([pod({ containerStatuses: [restarted] })])).toContain(
      'pod ingress/r-1 has been restarted and is not ready yet;',
    );
    const exited = { ...container, state: { terminated: { exitCode: 1, message: 'no route\n' } } };
    expect(door([pod({ containerStatuses: [exited] })])).toContain('pod ingress/r-1 has exited: no route;');
  });

  it('depends on the API server and the manager', () => {
    expect(notReadyText(doorNotReady('paris', undefined), call)).toBe(
      'front door paris: the API server does not respond; see `tidegate logs apiserver`',
    );
    expect(notReadyText(doorNotReady('paris', { pods: [], routers: [] }), call)).toContain(
      'does not exist yet',
    );
  });
});

describe('a node that is not ready', () => {
  const running = { name: 'x', state: 'running' as const, restarts: 0 };

  it('names the process that does not run', () => {
    const waiting = { name: 'x', state: 'waiting' as const, restarts: 4 };
    expect(notReadyText(nodeNotReady('node-a', waiting, undefined), call)).toBe(
      'node node-a: its hub is waiting after 4 restarts; see `tidegate logs hub node-a`',
    );
    expect(nodeNotReady('node-a', running, waiting).why).toBe('its node is waiting after 4 restarts');
    expect(nodeNotReady('node-a', undefined, undefined).why).toBe('its hub has not been started');
  });

  it('has not reported yet if all its processes run', () => {
    expect(nodeNotReady('node-a', running, running)).toMatchObject({
      why: 'it has not reported that it is ready',
      logs: 'node node-a',
    });
  });
});
