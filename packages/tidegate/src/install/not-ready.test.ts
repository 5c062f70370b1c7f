import type { Deployment, Pod } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import { type NotReady, notReadyOf, notReadyText, WaitReport } from './not-ready.ts';

const IMAGE = 'registry.example/tidegate:0.2.0';
const CAUSE = `failed to do request: Head "https://registry.example/v2/": dial tcp: i/o timeout`;

const deployment = (name: string, image = IMAGE): Deployment =>
  ({
    metadata: { name, generation: 1 },
    spec: { replicas: 1, template: { spec: { containers: [{ name: 'manager', image }] } } },
    status: { observedGeneration: 1 },
  }) as Deployment;

const pod = (of: string, name: string, waiting: object, image = IMAGE): Pod =>
  ({
    metadata: { name, labels: { 'app.kubernetes.io/name': of } },
    spec: { containers: [{ name: 'manager', image }] },
    status: { containerStatuses: [{ name: 'manager', image, state: { waiting } }] },
  }) as unknown as Pod;

const pulling = { reason: 'ErrImagePull', message: `rpc error: ${CAUSE}` };
const backOff = { reason: 'ImagePullBackOff', message: `Back-off pulling image "${IMAGE}"` };
const [apps, pools] = [deployment('tidegate-apps'), deployment('tidegate-pools')];

/** The lines that a wait prints for a sequence of states. */
function lines(...states: NotReady[][]): string[] {
  const printed: string[] = [];
  const report = new WaitReport('waiting for ', (line) => printed.push(line));
  for (const state of states) report.update(state);
  return printed;
}

describe('what is not ready', () => {
  it('is a Deployment with the problems of its pods', () => {
    const [found, ...rest] = notReadyOf([apps], [pod('tidegate-apps', 'a-1', backOff)]);
    expect(rest).toEqual([]);
    expect(notReadyText(found!)).toBe(
      `Deployment tidegate-apps (pod a-1: ImagePullBackOff: Back-off pulling image "${IMAGE}")`,
    );
  });

  it('has no problems of pods that are about to be replaced', () => {
    const old = pod('tidegate-apps', 'a-1', backOff, 'registry.example/tidegate:0.1.0');
    expect(notReadyOf([apps], [old]).map(notReadyText)).toEqual(['Deployment tidegate-apps']);
  });
});

describe('a wait', () => {
  it('reports an image that cannot be pulled once, for all pods that need it, with the cause', () => {
    const first = notReadyOf([apps, pools], [pod('tidegate-apps', 'a-1', pulling)]);
    const both = notReadyOf(
      [apps, pools],
      [pod('tidegate-apps', 'a-1', backOff), pod('tidegate-pools', 'p-1', pulling)],
    );
    expect(lines(first, both, first, both)).toEqual([
      `waiting for Deployments tidegate-apps, tidegate-pools: image ${IMAGE} cannot be pulled: rpc error: ${CAUSE}. Push the image, or set another one with --set image=NAME`,
    ]);
  });

  it('keeps the cause when kubelets only report that they wait', () => {
    const printed: string[] = [];
    const report = new WaitReport('waiting for ', (line) => printed.push(line));
    report.update(notReadyOf([apps], [pod('tidegate-apps', 'a-1', pulling)]));
    expect(report.update(notReadyOf([apps], [pod('tidegate-apps', 'a-1', backOff)]))).toContain(CAUSE);
  });

  it('does not repeat a container that fails again, but reports another problem', () => {
    const crash = (delay: string) => ({
      reason: 'CrashLoopBackOff',
      message: `back-off ${delay} restarting failed container`,
    });
    const state = (waiting: object) => notReadyOf([apps], [pod('tidegate-apps', 'a-1', waiting)]);
    expect(
      lines(state(crash('10s')), state(crash('20s')), state({ reason: 'CreateContainerError' })),
    ).toEqual([
      'waiting for Deployment tidegate-apps: pod a-1: CrashLoopBackOff: back-off 10s restarting failed container',
      'waiting for Deployment tidegate-apps: pod a-1: CreateContainerError',
    ]);
  });

  it('reports when a Deployment has become ready', () => {
    const ready = { ...apps, status: { observedGeneration: 1, updatedReplicas: 1, availableReplicas: 1 } };
    expect(lines(notReadyOf([apps, pools], []), notReadyOf([ready, pools], []))).toEqual([
      'waiting for Deployments tidegate-apps, tidegate-pools',
      'waiting for Deployment tidegate-pools',
    ]);
  });
});
