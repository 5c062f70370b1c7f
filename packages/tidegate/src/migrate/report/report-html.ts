import { groupByRule, type HostOfRule, type RuleGroup, textOf } from './by-rule.ts';
import type { IngressReport, MigrationReport } from './report.ts';
import { countsText } from './report-text.ts';

const STYLE = `
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid #8884; overflow-wrap: anywhere; }
code { font-size: .92em; }
.honored, .same { color: #1a7f37; } .changed { color: #9a6700; } .refused { color: #cf222e; }
details { margin: .4rem 0; } summary { cursor: pointer; }
pre { white-space: pre-wrap; }
`;

/**
 * One page that needs nothing else: no script, and nothing from another address. Its policy forbids both, so that text of a
 * tenant that were not escaped could still do nothing.
 */
export function reportHtml(report: MigrationReport, created: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>From ingress-nginx to Tidegate</title>
<style>${STYLE}</style>
</head>
<body>
<h1>From ingress-nginx to Tidegate</h1>
<p>Created ${escaped(created)} by <code>tidegate migrate ingress-nginx</code>.</p>
<pre>${escaped(countsText(report))}</pre>
${annotationTable(report)}
<h2>Ingresses</h2>
${report.ingresses.map(ingressHtml).join('\n')}
<h2>Rules of ingress-nginx that manifests do not show</h2>
${groupByRule(report.hosts).map(ruleHtml).join('\n') || '<p>None found.</p>'}
${configHtml(report)}
</body>
</html>
`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escaped = (text: string): string => text.replace(/[&<>"']/g, (each) => ENTITIES[each] ?? '');

const row = (...cells: readonly string[]): string =>
  `<tr>${cells.map((each) => `<td>${each}</td>`).join('')}</tr>`;
const head = (...cells: readonly string[]): string =>
  `<tr>${cells.map((each) => `<th>${each}</th>`).join('')}</tr>`;
const mark = (verdict: string): string => `<span class="${verdict}">${verdict}</span>`;
const code = (text: string): string => `<code>${escaped(text)}</code>`;

const annotationTable = ({ annotations }: MigrationReport): string =>
  annotations.length === 0
    ? ''
    : `<h2>Annotations</h2>
<table>${head('Annotation', 'Used', 'Honored', 'Changed', 'Refused')}
${annotations.map(({ name, count, verdicts }) => row(code(name), `${count}`, `${verdicts.honored}`, `${verdicts.changed}`, `${verdicts.refused}`)).join('\n')}
</table>`;

const ingressHtml = ({ ingress, verdict, hosts, paths, annotations, problems }: IngressReport): string => `
<details${verdict === 'honored' ? '' : ' open'}><summary>${mark(verdict)} ${code(ingress)}: ${escaped(hosts.filter((host) => host !== '').join(', ') || 'no host')}, ${paths} paths</summary>
<table>
${annotations.map((each) => row(mark(each.verdict), `${code(each.name)}<br>${code(each.value)}`, escaped(each.text))).join('\n')}
${problems.map(({ field, message }) => row(mark('refused'), code(field), escaped(message))).join('\n')}
</table></details>`;

const ruleHtml = ({ rule, hosts }: RuleGroup): string => {
  const { title, nginx, tidegate, advice } = textOf(rule);
  const isChanged = hosts.some(({ differences }) => differences > 0);
  return `
<h3>${mark(isChanged ? 'changed' : 'same')} ${escaped(title)}</h3>
<p>${escaped(nginx)} ${escaped(tidegate)}${isChanged ? ` ${escaped(advice)}` : ''}</p>
${hosts.map(hostHtml).join('\n')}`;
};

const hostHtml = ({ host, cause, paths, differences, examples }: HostOfRule): string => `
<details><summary>${host === '' ? 'Rules without a host' : code(host)}: ${differences} requests differ</summary>
${cause === undefined ? '' : `<p>Because of Ingress ${code(cause)}.</p>`}
${paths.length === 0 ? '' : `<p>Paths: ${paths.map(code).join(', ')}</p>`}
${examples.length === 0 ? '' : `<table>${head('Request', 'ingress-nginx', 'Tidegate')}${examples.map((each) => row(code(each.request), escaped(each.old), escaped(each.new))).join('\n')}</table>`}
</details>`;

const configHtml = ({ configMaps }: MigrationReport): string =>
  configMaps
    .map(
      ({ configMap, keys }) => `<h2>ConfigMap ${code(configMap)}</h2>
<table>${head('', 'Key', 'Value', '')}
${keys.map(({ name, value, verdict, text }) => row(mark(verdict), code(name), code(value), escaped(text))).join('\n')}
</table>`,
    )
    .join('\n');
