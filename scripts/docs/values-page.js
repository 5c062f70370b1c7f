// The page about the values of an installation, from packages/tidegate/src/install/values.ts.
import { alignTables } from './align-tables.js';

export function valuesPage(definitions) {
  const rows = definitions.map(({ path, type, default: value, description }) => {
    const text = JSON.stringify(value);
    const shown = text.length > 60 ? 'see `deploy/chart/values.yaml`' : `\`${text}\``;
    return `| \`${path}\` | ${type} | ${shown} | ${description.replaceAll('|', '\\|')} |`;
  });
  return alignTables(`# Values of an installation

This page lists what you can set with \`tidegate install --set PATH=VALUE\`, with \`helm install --set\`, or in a values file of
the Helm chart. The value of \`tidegate install --set\` is YAML: \`--set replicas.admission=3\`, \`--set affinity=null\`. Maps are merged
with their default, as Helm does; null removes the default or a part of it.
[Install on a cluster](../guides/install.md) shows how to use them.

| Value | Type | Default | Description |
| --- | --- | --- | --- |
${rows.join('\n')}
`);
}
