import { existsSync, readFileSync } from 'node:fs';
import { EnrollError } from './error.ts';

/** What the installation has changed on the node, written before the first change. */
export interface EnrollmentRecord {
  nodeName: string;
  mode: 'systemd' | 'static-pod';
  /** Files whose server was replaced, with the server before. */
  takenOver: { file: string; server: string }[];
  /** Files that the installation has created. */
  created: string[];
}

export function readRecord(file: string): EnrollmentRecord | undefined {
  if (!existsSync(file)) return undefined;
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as EnrollmentRecord;
  } catch (cause) {
    throw new EnrollError(
      `${file} is damaged: ${(cause as Error).message}. It records the API server of this node: set the server of the kubelet's kubeconfig yourself, then delete the file`,
      { cause },
    );
  }
}
