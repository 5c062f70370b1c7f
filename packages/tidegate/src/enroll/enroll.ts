import { mkdirSync, rmSync } from 'node:fs';
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
  timeoutMs: number;
  clock: Clock;
  signal: AbortSignal;
  onStep(text: string): void;
}

const POLL_MS = 500;
const SECRET = 0o600;
const PUBLIC = 0o644;

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
  await untilHubAnswers(options);
  try {
    for (const [file, text] of takeOver) {
      onStep(`pointing ${file} to the hub`);
      write(file, text, SECRET);
    }
    onStep('restarting the kubelet');
    await run(['systemctl', 'restart', 'kubelet.service']);
  } catch (cause) {
    giveBack(record);
    for (const file of record.created.filter((each) => takeOver.has(each))) rmSync(file, { force: true });
    throw new EnrollError(
      `the kubelet did not start behind the hub, so it uses the API server again: ${(cause as Error).message}`,
      { cause },
    );
  }
}

async function untilHubAnswers({
  hubProblem,
  timeoutMs,
  clock,
  signal,
  onStep,
}: EnrollOptions): Promise<void> {
  const deadline = clock.now() + timeoutMs;
  let last = '';
  for (;;) {
    const problem = await hubProblem();
    if (problem === undefined) return;
    if (problem !== last) onStep(`waiting for the hub: ${problem}`);
    last = problem;
    if (clock.now() > deadline)
      throw new EnrollError(
        `the hub is not ready after ${timeoutMs / 1000} s: ${problem}. The kubelet still uses the API server. Look at its log (journalctl -u tidegate-hub), then run the command again, or tidegate hub uninstall`,
      );
    await sleep(clock, POLL_MS, signal);
  }
}

function write(file: string, text: string, mode: number): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileAtomically(file, text, mode);
}
