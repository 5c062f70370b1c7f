import { once } from 'node:events';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startTicksOf } from '@tidegate/envtest/node';
import type { Pod } from '@tidegate/kube';
import { VirtualClock } from '@tidegate/kube/testing';
import { expect, it, onTestFinished } from 'vitest';
import { TestProcess } from '../../../../test/support/process.ts';
import { RouterLiveness } from './router-liveness.ts';
import { StateDirectory } from './state.ts';

/** The admin port of a router; `hang` stops the answers. */
async function adminPort(): Promise<{ port: number; hang(): void; answer(): void }> {
  let hangs = false;
  const waiting: ServerResponse[] = [];
  const server = createServer((_, response) => (hangs ? waiting.push(response) : response.end()));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    hang: () => {
      hangs = true;
    },
    answer: () => {
      hangs = false;
      for (const response of waiting.splice(0)) response.end();
    },
  };
}

const pod = (port: number): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'r-1',
    namespace: 'edge',
    uid: 'u1',
    labels: { 'networking.tidegate.io/router': 'paris' },
  },
  spec: {
    nodeName: 'node-a',
    containers: [{ name: 'router', ports: [{ name: 'admin', containerPort: port }] }],
  },
  status: {
    podIP: '127.0.0.1',
    containerStatuses: [
      {
        name: 'router',
        image: '',
        imageID: '',
        ready: true,
        started: true,
        restartCount: 2,
        containerID: 'process://7',
        state: { running: {} },
      },
    ],
  },
});

it('reports a router that hangs, kills it if that lasts, and knows why it ended', async () => {
  const state = new StateDirectory(await mkdtemp(join(tmpdir(), 'tidegate-router-')));
  const router = new TestProcess(['sleep', '1000']);
  onTestFinished(() => router.kill('SIGKILL'));
  const directory = join(state.node('node-a'), 'pods', 'u1');
  await mkdir(directory, { recursive: true });
  const process = { pid: router.pid, startTicks: startTicksOf(router.pid) };
  const record = { namespace: 'edge', name: 'r-1', containers: { router: { state: { process } } } };
  await writeFile(join(directory, 'pod.json'), JSON.stringify(record));

  const clock = new VirtualClock();
  const lines: string[] = [];
  const liveness = new RouterLiveness(state, (line) => lines.push(line), clock);
  onTestFinished(() => liveness.close());
  const admin = await adminPort();
  liveness.follow(pod(admin.port));
  admin.hang();
  const aWhile = async (): Promise<string[]> => {
    await clock.advance(2_000);
    return lines;
  };
  await expect.poll(aWhile).toHaveLength(1);
  const log = join(directory, 'containers/router/logs/2.log');
  expect(lines[0]).toBe(
    `router paris does not respond; it is restarted if that lasts for 30 s (log: ${log})`,
  );
  admin.answer();
  await expect.poll(() => lines).toContain('router paris responds again');
  expect(liveness.reasonOf('process://7')).toBeUndefined();

  admin.hang();
  for (let i = 0; i < 40 && liveness.reasonOf('process://7') === undefined; i++) await clock.advance(2_000);
  expect(await router.exited).toEqual({ code: null, signal: 'SIGKILL' });
  expect(liveness.reasonOf('process://7')).toBe('it did not respond for 30 s and was killed');
  expect(liveness.reasonOf('process://8')).toBeUndefined();
});
