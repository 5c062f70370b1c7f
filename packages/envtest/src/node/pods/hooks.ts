import { type Clock, sleep } from '@tidegate/kube';
import type * as core from 'kubernetes-types/core/v1.d.ts';
import { runInside } from '../commands/index.ts';
import type { Container, Inside } from '../contracts.ts';
import { check } from '../probes/check.ts';

/** Where and for how long a hook runs. */
export interface HookContext {
  container: Container;
  podIP: string;
  /** Undefined when the container does not run its own command. */
  inside: Inside | undefined;
  clock: Clock;
  timeoutMs: number;
  signal: AbortSignal;
}

/** The result of a hook: why it failed, or that it cannot run at all. */
export type HookProblem = { failed: string } | { notRun: string } | undefined;

/** Runs a postStart or preStop hook to its end. */
export async function runHook(
  hook: core.LifecycleHandler | undefined,
  { container, podIP, inside, clock, timeoutMs, signal }: HookContext,
): Promise<HookProblem> {
  if (hook?.sleep !== undefined) {
    await sleep(clock, hook.sleep.seconds * 1000, signal).catch(() => {}); // Rejects when aborted.
  } else if (hook?.httpGet !== undefined || hook?.tcpSocket !== undefined) {
    const { ok, output } = await check(hook, { container, podIP, timeoutMs });
    if (!ok) return { failed: output };
  } else if (hook?.exec !== undefined) {
    if (inside === undefined) {
      return { notRun: 'exec hooks run only in containers that run their own command' };
    }
    const { code, output } = await runInside(inside, hook.exec.command ?? [], { timeoutMs, signal });
    if (code !== 0 && !signal.aborted) return { failed: `command exited with ${code}: ${output.trim()}` };
  }
  return undefined;
}
