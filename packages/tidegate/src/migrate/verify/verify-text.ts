import { textOf } from '../report/by-rule.ts';
import { plural } from '../report/report-text.ts';
import type { TestRequest } from '../requests.ts';
import type { Explained, Finding, Verification } from './verify.ts';

const MOST_SHOWN = 10;

/** The result for a terminal: differences by rule, with examples. */
export function verificationText(result: Verification, isFull: boolean): string {
  const { sent, same, findings, failures, unstable } = result;
  const counted = findings.filter(({ isAccepted }) => !isAccepted).length;
  return [
    ...groupsOf(findings).map(([rule, group]) => groupText(rule, group, isFull)),
    ...(failures.length === 0
      ? []
      : [
          [
            'No response',
            ...failures
              .slice(0, isFull ? undefined : MOST_SHOWN)
              .map(({ request, side, message }) => `  ${side}: ${requestText(request)}: ${message}`),
          ].join('\n'),
        ]),
    [
      `${plural(sent, 'request')} sent to both: ${same} answered the same, ${counted} differently, ${findings.length - counted} with accepted differences, ${failures.length} without a response.`,
      ...(unstable === 0
        ? []
        : [
            `The old controller itself answers ${plural(unstable, 'request')} differently each time; these parts were not compared.`,
          ]),
    ].join('\n'),
  ].join('\n\n');
}

type Example = { request: TestRequest; differences: Explained[] };

function groupsOf(findings: readonly Finding[]): [Explained['rule'], Example[]][] {
  const groups = new Map<Explained['rule'], Example[]>();
  for (const { request, differences } of findings)
    for (const rule of new Set(differences.map((each) => each.rule))) {
      const own = differences.filter((each) => each.rule === rule);
      groups.set(rule, [...(groups.get(rule) ?? []), { request, differences: own }]);
    }
  return [...groups].sort(([, a], [, b]) => b.length - a.length);
}

function groupText(rule: Explained['rule'], group: readonly Example[], isFull: boolean): string {
  const { title, nginx, tidegate, advice } = textOf(rule);
  const shown = isFull ? group : group.slice(0, MOST_SHOWN);
  return [
    `${title} (${rule}): ${plural(group.length, 'request')}`,
    `  ${nginx} ${tidegate} ${advice}`,
    ...shown.map(
      ({ request, differences }) =>
        `  ${requestText(request)}: ${differences.map(differenceText).join('; ')}`,
    ),
    ...(group.length > shown.length
      ? [`  and ${group.length - shown.length} more. Add --all to list them.`]
      : []),
  ].join('\n');
}

const differenceText = ({ part, old, new: now }: Explained): string =>
  part.startsWith('body') || part === 'certificate'
    ? `another ${part}`
    : `${part} ${old === '' ? 'absent' : old} -> ${now === '' ? 'absent' : now}`;

export function requestText({ method, secure, host, target, headers }: TestRequest): string {
  const extra = Object.entries(headers).map(([name, value]) => ` ${name}: ${value}`);
  return `${method} ${secure ? 'https' : 'http'}://${host}${target}${extra.join(',')}`;
}
