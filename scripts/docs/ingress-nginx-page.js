// docs/reference/ingress-nginx-annotations.md, from the tables in packages/tidegate/src/ingress/nginx-annotations.
import { cell, code, generatedBy, page, table } from './markdown.js';

const INTRODUCTION = `This page lists the annotations of ingress-nginx, with the prefix \`nginx.ingress.kubernetes.io/\`, and what Tidegate does with
them on Ingresses of its classes. Ingresses that an ingress-nginx serves are not affected.`;

const HONORED_TEXT = `Tidegate does what they ask for. The annotation of Tidegate has the same meaning; if an Ingress has both, it wins.`;

const REFUSED_TEXT = `They protect something, and Tidegate does not support them yet. Served without them, an Ingress would be open to clients that
it is meant to exclude:

- Admission rejects an Ingress that gets such an annotation.
- If an Ingress has one nevertheless, for example because it is older than Tidegate, all requests for its hosts get the
  response 503. It has an event with the reason \`AccessControlNotSupported\`.
- This includes the paths of other Ingresses of the same host and namespace, which get an event too. A backend may take
  another path than the protected one for the same, for example \`//admin\` or \`/Admin\` for \`/admin\`, and these Ingresses
  would forward it. To keep the other paths available, give them a host of their own.

They are refused with every prefix, because ingress-nginx can be configured to use another prefix, and because other controllers
use the same names for the same purposes. Unknown names are refused, also with every prefix, if they begin with \`auth-\`,
\`basic-auth-\`, \`jwt-\`, \`limit-\`, \`rate-limit-\` or \`global-rate-limit-\`, end with \`-source-range\`, contain \`snippet\`, \`modsecurity\`
or a word like \`whitelist\` or \`deny-list\`, or have one of the words \`waf\`, \`wafv2\`, \`oauth\`, \`oauth2\`, \`oidc\`, \`mtls\`, \`firewall\` and
\`cidrs\`. Protections of other controllers under other names, for example middlewares and plugins, are not recognized: check
the annotations of an Ingress before you move it to a class of Tidegate.`;

const IGNORED_TEXT = `Tidegate does without them. Admission warns about them, and the Ingress has an event with the reason \`AnnotationIgnored\`. The
same applies to unknown names with the prefix of ingress-nginx.

With \`use-regex: "true"\` or \`rewrite-target\`, ingress-nginx reads paths as regular expressions. Tidegate does not serve paths of such
an Ingress that contain one of the characters \`\\ ^ $ * + ? ( ) [ ] { } |\`. Admission rejects them, and the Ingress has an event
with the reason \`InvalidPath\`.`;

const byName = ([a], [b]) => (a < b ? -1 : 1);

export function ingressNginxPage({ HONORED, REFUSED, IGNORED }) {
  const rows = (entries, row) => [...entries].toSorted(byName).map(row);
  return page(
    generatedBy('packages/tidegate/src/ingress/nginx-annotations'),
    '# Annotations of ingress-nginx',
    INTRODUCTION,
    '## Honored',
    HONORED_TEXT,
    table(
      ['Annotation', 'Annotation of Tidegate'],
      rows(HONORED, ([name, { as }]) => [code(name), code(as)]),
    ),
    '## Refused',
    REFUSED_TEXT,
    table(
      ['Annotation', 'Asks for', 'Allowed values', 'Instead'],
      rows(REFUSED, ([name, { asks, instead, off }]) => [
        code(name),
        cell(asks),
        off.map(code).join(', '),
        cell(instead),
      ]),
    ),
    '## Ignored',
    IGNORED_TEXT,
    table(
      ['Annotation', 'Without it', 'Instead'],
      rows(IGNORED, ([name, { effect, instead }]) => [code(name), cell(effect), cell(instead)]),
    ),
  );
}
