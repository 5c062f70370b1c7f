import type { Verdict } from './annotations.ts';
import { groupByRule, type HostOfRule, type RuleGroup, textOf } from './by-rule.ts';
import type { ConfigReport, IngressReport, MigrationReport } from './report.ts';

const MARKS: Readonly<Record<Verdict, string>> = {
  honored: 'honored',
  changed: 'CHANGED',
  refused: 'REFUSED',
};

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`;

/** The report for a terminal. `isFull`: also what stays the same. */
export function reportText(report: MigrationReport, isFull: boolean): string {
  const ingresses = report.ingresses.filter(({ verdict }) => isFull || verdict !== 'honored');
  const left = report.ingresses.length - ingresses.length;
  return [
    countsText(report),
    section('Annotations', report.annotations.map(useText)),
    section('Ingresses', [
      ...ingresses.map((each) => ingressText(each, isFull)),
      ...(left === 0
        ? []
        : [
            `  ${plural(left, 'more Ingress', 'more Ingresses')} without a difference. Add --all to list them.`,
          ]),
    ]),
    section('Rules of ingress-nginx that manifests do not show', groupByRule(report.hosts).map(ruleText)),
    section('ConfigMap of the controller', report.configMaps.map(configText)),
  ]
    .filter((each) => each !== '')
    .join('\n\n');
}

const section = (title: string, lines: readonly string[]): string =>
  lines.length === 0 ? '' : [title, ...lines].join('\n');

export function countsText({ counts, withoutClass }: MigrationReport): string {
  const { ingresses, honored, changed, refused, hosts, paths, annotations, otherClasses } = counts;
  const others = Object.entries(otherClasses).map(([name, count]) => `${count} of class ${name}`);
  return [
    `${plural(ingresses, 'Ingress', 'Ingresses')} of ingress-nginx, with ${plural(hosts, 'host')} and ${plural(paths, 'path')}:`,
    `  ${honored} honored, ${changed} changed, ${refused} refused`,
    `  annotations: ${annotations.honored} honored, ${annotations.changed} changed, ${annotations.refused} refused`,
    ...(others.length === 0 ? [] : [`Not included: ${others.join(', ')}.`]),
    ...(withoutClass.length === 0
      ? []
      : [
          `Without a class: ${withoutClass.join(', ')}. ingress-nginx serves them only with --watch-ingress-without-class. Tidegate does not serve them: set spec.ingressClassName.`,
        ]),
  ].join('\n');
}

const useText = ({ name, count, verdicts }: MigrationReport['annotations'][number]): string => {
  const parts = (['honored', 'changed', 'refused'] as const).filter((each) => verdicts[each] > 0);
  return `  ${`${count}`.padStart(5)}  ${name}: ${parts.map((each) => (parts.length === 1 ? each : `${verdicts[each]} ${each}`)).join(', ')}`;
};

function ingressText({ ingress, verdict, annotations, problems }: IngressReport, isFull: boolean): string {
  const shown = annotations.filter((each) => isFull || each.verdict !== 'honored');
  return [
    `  ${MARKS[verdict]} ${ingress}`,
    ...shown.map((each) => `    ${MARKS[each.verdict]} ${each.name}: ${each.text}`),
    ...problems.map(({ field, message }) => `    REFUSED ${field}: ${message}`),
  ].join('\n');
}

const ruleText = ({ rule, hosts }: RuleGroup): string => {
  const { title, nginx, tidegate, advice } = textOf(rule);
  const isChanged = hosts.some(({ differences }) => differences > 0);
  return [
    `  ${isChanged ? 'CHANGED' : 'same   '} ${title}`,
    `    ${nginx} ${tidegate}${isChanged ? ` ${advice}` : ''}`,
    ...hosts.map(hostText),
  ].join('\n');
};

function hostText({ host, cause, paths, differences, examples }: HostOfRule): string {
  const by = cause === undefined ? '' : ` (because of Ingress ${cause})`;
  return [
    `    ${host === '' ? 'rules without a host' : host}${by}: ${paths.join(', ') || 'other paths'}`,
    ...examples.map((each) => `      ${each.request}: ${each.old} -> ${each.new}`),
    ...(differences > examples.length ? [`      and ${differences - examples.length} more`] : []),
  ].join('\n');
}

const configText = ({ configMap, keys }: ConfigReport): string =>
  [
    `  ${configMap}`,
    ...keys.map(
      ({ name, value, verdict, text }) => `    ${MARKS[verdict]} ${name}: ${JSON.stringify(value)}. ${text}`,
    ),
  ].join('\n');
