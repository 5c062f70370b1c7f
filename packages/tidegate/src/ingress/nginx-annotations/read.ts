import { HONORED } from './honored.ts';
import { IGNORED } from './ignored.ts';
import { type Refused, refusedByName } from './refused.ts';
import { adviceFor } from './snippets/index.ts';

export const NGINX_PREFIX = 'nginx.ingress.kubernetes.io/';

/** An Ingress can have thousands of annotations. Each of these becomes an event and a warning. */
const MOST_REPORTED = 20;

/** A finding about one annotation. */
export interface Finding {
  /** With its prefix. */
  readonly annotation: string;
  readonly message: string;
}

/** What the annotations of ingress-nginx on an Ingress mean to Tidegate. */
export interface NginxAnnotations {
  /** By annotation of Tidegate: the annotation of ingress-nginx to read in its place. */
  readonly aliases: ReadonlyMap<string, string>;
  readonly refused: readonly Finding[];
  readonly ignored: readonly Finding[];
  /** By name without prefix: the values of annotations that become policies. */
  readonly policies: ReadonlyMap<string, string>;
}

const NOTHING: NginxAnnotations = { aliases: new Map(), refused: [], ignored: [], policies: new Map() };

export function readNginxAnnotations(annotations: Readonly<Record<string, string>>): NginxAnnotations {
  const names = Object.keys(annotations).sort();
  // Most Ingresses have none.
  if (!names.some((name) => name.includes('/'))) return NOTHING;
  const aliases = new Map<string, string>();
  const policies = new Map<string, string>();
  const ignored: Finding[] = [];
  const refused: Finding[] = [];
  for (const annotation of names) {
    const rule = refusalOf(annotation);
    const own = annotation.startsWith(NGINX_PREFIX) ? annotation.slice(NGINX_PREFIX.length) : undefined;
    const honored = own === undefined ? undefined : HONORED.get(own);
    if (rule !== undefined) {
      if (!rule.off.includes(annotations[annotation]!.trim()))
        refused.push({ annotation, message: refusedMessage(annotation, annotations[annotation]!, rule) });
    } else if (honored?.as !== undefined) aliases.set(honored.as, annotation);
    else if (honored !== undefined && own !== undefined) policies.set(own, annotations[annotation]!);
    else if (own !== undefined) ignored.push({ annotation, message: ignoredMessage(annotation, own) });
  }
  return {
    aliases,
    refused: atMost(refused),
    ignored: atMost(ignored),
    policies,
  };
}

const nameOf = (annotation: string): string =>
  annotation.slice(annotation.lastIndexOf('/') + 1).toLowerCase();

function refusalOf(annotation: string): Refused | undefined {
  if (!annotation.includes('/')) return undefined;
  const name = nameOf(annotation);
  const honored = HONORED.get(name);
  if (honored?.guards !== undefined && annotation !== NGINX_PREFIX + name)
    return { asks: honored.guards, instead: `Write ${NGINX_PREFIX}${name} instead.`, off: [] };
  return honored !== undefined || IGNORED.has(name) ? undefined : refusedByName(name);
}

function refusedMessage(annotation: string, value: string, { asks, instead }: Refused): string {
  const what = `${annotation} asks for ${asks}. Tidegate does not support it, and does not serve the hosts of the Ingress without it: all requests for them get the response 503.`;
  const advice = adviceFor(nameOf(annotation), value);
  return [what, ...(advice.length > 0 ? advice : [instead]), 'Then remove the annotation.'].join(' ');
}

const NOT_KNOWN = { effect: 'It is not an annotation of ingress-nginx.', instead: 'Check the name.' };

function ignoredMessage(annotation: string, name: string): string {
  const { effect, instead } = IGNORED.get(name) ?? NOT_KNOWN;
  return `Tidegate ignores ${annotation}. ${effect} ${instead}`;
}

function atMost(findings: readonly Finding[]): Finding[] {
  const shown = findings.slice(0, MOST_REPORTED).map(({ annotation, message }) => ({ annotation, message }));
  const [last] = shown.slice(-1);
  const more = findings.length - shown.length;
  if (last === undefined || more === 0) return shown;
  return [...shown.slice(0, -1), { ...last, message: `${last.message} So are ${more} more annotations.` }];
}
