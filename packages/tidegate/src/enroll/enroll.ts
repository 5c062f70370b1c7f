import { chmodSync, mkdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { writeFileAtomically } from '@tidegate/disk';
import { type Clock, sleep } from '@tidegate/kube';
import { EnrollError } from './error.ts';
import type { Enrollment } from './plan.ts';
import { environmentFile, staticPodManifest } from './service.ts';
import { giveBack } from './withdraw.ts';

export interface EnrollOptions {
  /** The text of deploy/hub.service. */
  unit: string;
  /** For a static pod. */
  image: string;
  hubOptions: readonly string[];
  /** Runs a command of the node, for example systemctl. Rejects if it fails. */
  run(command: readonly string[]): Promise<void>;
  /** Whether the hub answers and has its certificates. Returns why not. */
  hubProblem(): Promise<string | undefined>;
  /**
   * Why the kubelet does not reach the API server since a time, in milliseconds since the epoch. Undefined if the kubelet is not
   * restarted here, so that nothing can be known about it.
   */
  kubeletProblem?(since: number): Promise<string | undefined>;
  timeoutMs: number;
  clock: Clock;
  signal: AbortSignal;
  onStep(text: string): void;
}

const POLL_MS = 500;
const SECRET = 0o600;
const PUBLIC = 0o644;
const PRIVATE_FOLDER = 0o700;

/** Installs the hub, and points the kubelet to it when it answers. */
export async function enroll(enrollment: Enrollment, options: EnrollOptions): Promise<void> {
  const { request, record, hubFiles, takeOver, bootstrap } = enrollment;
  const { layout, mode, nodeName } = request;
  const { run, onStep } = options;
  const service = { nodeName, options: options.hubOptions, bootstrap };
  const files = new Map<string, { text: string; mode: number }>(
    [...hubFiles].map(([file, text]) => [file, { text, mode: SECRET }]),
  );
  if (mode === 'systemd') {
    files.set(layout.environment, { text: environmentFile(service), mode: PUBLIC });
    files.set(layout.unit, { text: options.unit, mode: PUBLIC });
  } else {
    files.set(layout.staticPod, { text: staticPodManifest(service, options.image), mode: PUBLIC });
  }
  record.created = [...new Set([...record.created, ...files.keys()])];
  write(layout.record, JSON.stringify(record, undefined, 2), SECRET);
  // systemd creates it with this mode. A kubelet would create it with another one, which the hub refuses.
  mkdirSync(layout.state, { recursive: true });
  chmodSync(layout.state, PRIVATE_FOLDER);
  for (const [file, { text, mode }] of files) {
    onStep(`writing ${file}`);
    write(file, text, mode);
  }
  if (mode === 'systemd') {
    onStep('starting tidegate-hub.service');
    await run(['systemctl', 'daemon-reload']);
    await run(['systemctl', 'enable', 'tidegate-hub.service']);
    await run(['systemctl', 'restart', 'tidegate-hub.service']);
  }
  await until('the hub', options.hubProblem, options).catch((cause: unknown) => {
    if (!(cause instanceof EnrollError)) throw cause;
    throw new EnrollError(
      `${cause.message}. The kubelet still uses the API server. Look at the log of the hub (${LOGS[mode]}), then run the command again, or tidegate hub uninstall`,
      { cause },
    );
  });
  try {
    for (const [file, text] of takeOver) {
      onStep(`pointing ${file} to the hub`);
      write(file, text, SECRET);
    }
    await restartKubelet(options);
  } catch (cause) {
    onStep('the kubelet does not work behind the hub: pointing it to the API server again');
    giveBack(record);
    for (const file of record.created.filter((each) => takeOver.has(each))) rmSync(file, { force: true });
    const failed = await run(['systemctl', 'restart', 'kubelet.service']).catch((error: Error) => error);
    const now =
      failed instanceof Error ? `and does not start there either (${failed.message})` : 'and was restarted';
    throw new EnrollError(
      `the kubelet does not work behind the hub, so its kubeconfig names the API server again, ${now}: ${(cause as Error).message}. Look at its log (journalctl -u kubelet) and at that of the hub (${LOGS[mode]}), then run the command again, or tidegate hub uninstall`,
      { cause },
    );
  }
}

const LOGS = {
  systemd: 'journalctl -u tidegate-hub',
  'static-pod': 'crictl logs, or the files in /var/log/pods',
};

/** A kubelet that starts but cannot use the hub would be lost to the cluster, so its next heartbeat is awaited. */
async function restartKubelet(options: EnrollOptions): Promise<void> {
  const { run, onStep, kubeletProblem } = options;
  onStep('restarting the kubelet');
  await run(['systemctl', 'restart', 'kubelet.service']);
  const since = Date.now();
  if (kubeletProblem !== undefined) await until('the kubelet', () => kubeletProblem(since), options);
}

/** Rejects with an EnrollError after the timeout. */
async function until(
  what: string,
  problemOf: () => Promise<string | undefined>,
  { timeoutMs, clock, signal, onStep }: EnrollOptions,
): Promise<void> {
  const deadline = clock.now() + timeoutMs;
  let last = '';
  for (;;) {
    const problem = await problemOf();
    if (problem === undefined) return;
    if (problem !== last) onStep(`waiting for ${what}: ${problem}`);
    last = problem;
    if (clock.now() > deadline)
      throw new EnrollError(`${what} is not ready after ${timeoutMs / 1000} s: ${problem}`);
    await sleep(clock, POLL_MS, signal);
  }
}

function write(file: string, text: string, mode: number): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileAtomically(file, text, mode);
}
