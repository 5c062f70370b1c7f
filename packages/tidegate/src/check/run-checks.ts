import type { Check, CheckContext, Finding } from './check.ts';

export interface CheckReport {
  check: string;
  title: string;
  findings: readonly Finding[];
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
  const running = checks.map(async ({ name, title, run }): Promise<CheckReport> => {
    try {
      return { check: name, title, findings: await run(context) };
    } catch (cause) {
      const message = `cannot be checked: ${(cause as Error).message}`;
      const hint = 'check the connection and the permissions of the user, then run the command again';
      return { check: name, title, findings: [{ level: 'error', message, hint }] };
    }
  });
  for (const report of running) onReport(await report);
  return Promise.all(running);
}

export const hasErrors = (reports: readonly CheckReport[]): boolean =>
  reports.some(({ findings }) => findings.some(({ level }) => level === 'error'));
