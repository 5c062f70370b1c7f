import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { writeFileAtomically } from '@tidegate/disk';
import { HUB_VERSION_ANNOTATION } from '../api/index.ts';
import { EnrollError } from './error.ts';
import type { Layout } from './files.ts';
import { withServer } from './kubeconfig-server.ts';
import { type EnrollmentRecord, readRecord } from './record.ts';

export interface WithdrawOptions {
  layout: Layout;
  run(command: readonly string[]): Promise<void>;
  /** Removes what the hub wrote to the Node object, with the credentials of the hub. */
  release(record: EnrollmentRecord): Promise<void>;
  onStep(text: string): void;
  onNote(text: string): void;
}

/** Gives the node back: the kubelet first, so that it never has to work without an API server. */
export async function withdraw({ layout, run, release, onStep, onNote }: WithdrawOptions): Promise<void> {
  const record = readRecord(layout.record);
  if (record === undefined)
    throw new EnrollError(
      `${layout.record} does not exist: no hub was installed on this node with tidegate hub install. Set the server in ${layout.kubelet} to the API server yourself`,
    );
  onStep('pointing the kubelet to the API server');
  giveBack(record);
  await run(['systemctl', 'restart', 'kubelet.service']);
  onStep('stopping the hub');
  // An installation or a removal that was interrupted may have left no unit.
  if (existsSync(layout.unit)) await run(['systemctl', 'disable', '--now', 'tidegate-hub.service']);
  rmSync(layout.staticPod, { force: true });
  // After the hub has stopped, because it writes the annotation when it starts.
  await release(record).catch((error: unknown) => {
    onNote(
      `the annotation of node ${record.nodeName} could not be removed: ${(error as Error).message}. Remove it with kubectl annotate node ${record.nodeName} ${HUB_VERSION_ANNOTATION}-`,
    );
  });
  for (const file of record.created) {
    onStep(`deleting ${file}`);
    rmSync(file, { force: true });
  }
  if (record.mode === 'systemd') await run(['systemctl', 'daemon-reload']);
  rmSync(layout.record);
}

/** Sets the server in the files as they are now: the kubelet may have renewed its certificate meanwhile. */
export function giveBack({ takenOver }: EnrollmentRecord): void {
  for (const { file, server } of takenOver) {
    if (!existsSync(file)) continue;
    const text = withServer(file, readFileSync(file, 'utf8'), server);
    writeFileAtomically(file, text, statSync(file).mode & 0o777);
  }
}
