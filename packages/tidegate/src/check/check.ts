import type { KubeClient } from '@tidegate/kube';
import type { Chart } from '../install/index.ts';

/** What one look at the cluster has found. */
export interface Finding {
  level: 'ok' | 'warning' | 'error';
  /** What was seen, with the object. */
  message: string;
  /** What to do. Every warning and error has one. */
  hint?: string;
}

export interface CheckContext {
  client: KubeClient;
  /** Namespace of the installation. */
  namespace: string;
  /** The chart that ships with this program. */
  chart: Chart;
  /** Milliseconds since the epoch, on this machine. */
  now(): number;
  /** Sends a request from this machine. Resolves to the status code; rejects if nothing answers. */
  ask(url: string): Promise<number>;
  signal: AbortSignal;
}

export interface Check {
  /** A short name, which scripts can rely on. */
  name: string;
  title: string;
  /** `pre`: before an installation. `installed`: after it. `always`: both. */
  when: 'pre' | 'installed' | 'always';
  run(context: CheckContext): Promise<Finding[]>;
}

export const ok = (message: string): Finding => ({ level: 'ok', message });
export const warning = (message: string, hint: string): Finding => ({ level: 'warning', message, hint });
export const error = (message: string, hint: string): Finding => ({ level: 'error', message, hint });
