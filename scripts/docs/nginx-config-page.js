// docs/reference/ingress-nginx-configmap.md, from the table in packages/tidegate/src/ingress/nginx-config.
import { cell, code, generatedBy, page, table } from './markdown.js';

const INTRODUCTION = `This page lists the keys of the ConfigMap of ingress-nginx, and what Tidegate does with them as
[parameters](../guides/classes-and-routers.md#parameters) of a class: \`spec.parameters\` of an IngressClass can refer to a copy of the
ConfigMap in \`tidegate-system\`. An empty value is the same as none.`;

const HONORED = `If an Ingress has the annotation with the name of the key, its own value applies. Values are those of the
[annotations](ingress-nginx-annotations.md). An invalid value is refused, and nothing is provisioned.`;

const REFUSED = `With these keys, ingress-nginx protects something. A class that has one is not provisioned, and an event of the class says why.
Routers that exist keep running unchanged.`;

const IGNORED = `These have no effect. An event of the class with the reason \`ParametersIgnored\` lists them.`;

const withNames = (keys, wanted) =>
  table(
    ['Key', 'What Tidegate does', 'Values that change nothing'],
    [...keys]
      .filter(([, key]) => wanted(key))
      .map(([name, { text, same = [] }]) => [
        code(name),
        cell(text),
        same
          .filter((value) => value !== '')
          .map(code)
          .join(', '),
      ])
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );

export const nginxConfigPage = ({ CONFIG_KEYS }) =>
  page(
    generatedBy('packages/tidegate/src/ingress/nginx-config'),
    '# Keys of the ConfigMap of ingress-nginx',
    INTRODUCTION,
    '## Clients',
    'See [Clients and requests](../guides/requests.md).',
    withNames(CONFIG_KEYS, ({ of }) => of === 'clients'),
    '## Defaults of Ingresses',
    HONORED,
    `${[...CONFIG_KEYS]
      .filter(([, { of }]) => of === 'ingresses')
      .map(([name]) => `- ${code(name)}`)
      .sort()
      .join('\n')}`,
    '## Always so',
    withNames(CONFIG_KEYS, ({ verdict, of }) => verdict === 'honored' && of === undefined),
    '## Refused',
    REFUSED,
    withNames(CONFIG_KEYS, ({ verdict }) => verdict === 'refused'),
    '## Without effect',
    IGNORED,
    withNames(CONFIG_KEYS, ({ verdict }) => verdict === 'changed'),
  );
