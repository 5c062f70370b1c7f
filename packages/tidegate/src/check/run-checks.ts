import { ConnectionError, isForbidden, isUnauthorized } from '@tidegate/kube';
import type { Check, CheckContext, Finding } from './check.ts';

export interface CheckReport {
  check: string;
  title: string;
  findings: readonly Finding[];
}

interface Outcome {
  report: CheckReport;
  /** Whether the API server did not answer, or not to this user. Then the other checks would only repeat it. */
  isOver: boolean;
}

/**
 * Runs the checks at the same time and reports each in order as soon as those before it are done. A check that fails itself
 * is a finding: the others still say what they see.
 */
export async function runChecks(
  checks: readonly Check[],
  context: CheckContext,
  onReport: (report: CheckReport) => void,
): Promise<CheckReport[]> {
  const running = checks.map(async ({ name, title, run }): Promise<Outcome> => {
    try {
      return { report: { check: name, title, findings: await run(context) }, isOver: false };
    } catch (cause) {
      const message = `cannot be checked: ${(cause as Error).message}`;
      const findings: Finding[] = [{ level: 'error', message, hint: hintFor(cause) }];
      return { report: { check: name, title, findings }, isOver: isUnusable(cause) };
    }
  });
  const reports: CheckReport[] = [];
  for (const outcome of running) {
    const { report, isOver } = await outcome;
    onReport(report);
    reports.push(report);
    if (isOver) break;
  }
  await Promise.all(running);
  return reports;
}

const isUnusable = (cause: unknown): boolean => cause instanceof ConnectionError || isUnauthorized(cause);

function hintFor(cause: unknown): string {
  if (cause instanceof ConnectionError)
    return 'check that the API server is running, and the server in the kubeconfig file; then run the command again';
  if (isUnauthorized(cause))
    return 'the API server does not accept the credentials of the kubeconfig file: renew them, or use another file or context';
  if (isForbidden(cause)) return 'use a kubeconfig of a cluster administrator';
  return 'correct this, then run the command again';
}

export const hasErrors = (reports: readonly CheckReport[]): boolean =>
  reports.some(({ findings }) => findings.some(({ level }) => level === 'error'));
