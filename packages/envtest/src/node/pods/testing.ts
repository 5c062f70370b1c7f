/** Short builders of pods and records for tests. */
import type { Pod } from '@tidegate/kube';
import type { Container } from '../contracts.ts';
import { type ContainerRecord, newContainer, type PodRecord, timestamp } from './record.ts';

export const NOW = Date.UTC(2026, 0, 1);

export interface Shape {
  init?: (string | Container)[];
  main?: (string | Container)[];
  restartPolicy?: string;
}

const container = (given: string | Container): Container =>
  typeof given === 'string' ? { name: given, image: 'any' } : { image: 'any', ...given };

export const podOf = ({ init, main = ['main'], restartPolicy = 'Always' }: Shape): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', namespace: 'shop', uid: 'u-1' },
  spec: {
    ...(init === undefined ? {} : { initContainers: init.map(container) }),
    containers: main.map(container),
    restartPolicy,
  },
});

export const recordOf = (containers: Record<string, ContainerRecord> = {}): PodRecord => ({
  uid: 'u-1',
  namespace: 'shop',
  name: 'web',
  startTime: timestamp(NOW),
  graceSeconds: 30,
  podIP: '127.64.1.2',
  containers,
});

const RAN = { imageID: 'tidegate://x', containerID: 'tidegate://1' };

export const waiting = newContainer('any');

export const running: ContainerRecord = {
  ...newContainer('any'),
  ...RAN,
  state: { type: 'running', startedAt: timestamp(NOW), process: { pid: 1, startTicks: '1' } },
};

export const ended = (exitCode: number, crashes = 1): ContainerRecord => ({
  ...newContainer('any'),
  ...RAN,
  crashes,
  state: {
    type: 'terminated',
    terminated: {
      exitCode,
      reason: exitCode === 0 ? 'Completed' : 'Error',
      startedAt: timestamp(NOW - 1000),
      finishedAt: timestamp(NOW),
      containerID: 'tidegate://1',
    },
  },
});
