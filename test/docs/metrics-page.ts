/** docs/reference/metrics.md has a table for each program; the tables follow what the program exports. */

export interface Metric {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly labels: readonly string[];
}

/** Reads the text format of Prometheus. Labels are known only for metrics that have a sample. */
export function parseMetrics(text: string): Metric[] {
  const metrics = new Map<string, { type: string; help: string; labels: Set<string> }>();
  for (const line of text.split('\n')) {
    const [, keyword, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (keyword !== undefined) {
      const metric = metrics.get(name) ?? { type: '', help: '', labels: new Set() };
      metrics.set(name, keyword === 'HELP' ? { ...metric, help: rest } : { ...metric, type: rest });
      continue;
    }
    const [, sample = '', labels = ''] = /^(\w+)\{(.*)\} /.exec(line) ?? [];
    const metric = metrics.get(sample) ?? metrics.get(sample.replace(/_(?:bucket|sum|count)$/, ''));
    for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) if (label !== 'le') metric?.labels.add(label);
  }
  return [...metrics]
    .map(([name, { type, help, labels }]) => ({ name, type, help, labels: [...labels].toSorted() }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

const block = (program: string): RegExp =>
  new RegExp(`(<!-- metrics of the ${program} -->\\n)([\\s\\S]*?)(<!-- end -->)`);

/** The rows of the table of a program. */
export function tableOf(page: string, program: string): Metric[] {
  const table = block(program).exec(page)?.[2];
  if (table === undefined) throw new Error(`the page has no table for the ${program}`);
  return table.split('\n').flatMap((line) => {
    const [, name, type = '', labels = '', help = ''] =
      /^\| `(\w+)` *\| *(\w+) *\| *(.*?) *\| (.*?) *\|$/.exec(line) ?? [];
    if (name === undefined) return [];
    return [{ name, type, help, labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label) }];
  });
}

/** The page with another table. Labels that were seen before stay: a short run does not see all of them. */
export function withTable(page: string, program: string, metrics: readonly Metric[]): string {
  const before = new Map(tableOf(page, program).map(({ name, labels }) => [name, labels]));
  const rows = metrics.map(({ name, type, help, labels }) => [
    `\`${name}\``,
    type,
    [...new Set([...(before.get(name) ?? []), ...labels])]
      .toSorted()
      .map((label) => `\`${label}\``)
      .join(', '),
    help,
  ]);
  return page.replace(block(program), (_, start, __, end) => `${start}\n${table(rows)}\n\n${end}`);
}

function table(rows: readonly string[][]): string {
  const all = [['Metric', 'Type', 'Labels', 'Description'], ...rows];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((text, column) => text.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const [headings = [], ...others] = all;
  return [line(headings), line(widths.map((width) => '-'.repeat(width))), ...others.map(line)].join('\n');
}
