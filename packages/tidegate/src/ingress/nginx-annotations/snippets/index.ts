/**
 * Annotations with directives of nginx (`configuration-snippet`, `server-snippet`, `auth-snippet`) are refused. To help their
 * authors, `parse.ts` reads the directives, and `typed.ts` names the annotations that do the same. Both are for messages only:
 * nothing of a snippet ever reaches a data plane.
 *
 * `add_header X-Frame-Options DENY;` is refused with: "In place of add_header, write custom-headers with the name of a ConfigMap
 * that has ...". Directives that have no typed form are named too, so that the list does not seem complete.
 */
import { type Directive, parseDirectives } from './parse.ts';
import { typedForm } from './typed.ts';

const MOST_SHOWN = 10;

const SCOPES = new Map([
  ['configuration-snippet', 'route'],
  ['server-snippet', 'route'],
  ['auth-snippet', 'auth'],
] as const);

/** Sentences about the directives of a snippet. Empty if the annotation is not one, or nothing of it is understood. */
export function adviceFor(annotation: string, value: string): string[] {
  const scope = SCOPES.get(annotation as 'auth-snippet');
  if (scope === undefined) return [];
  const found = joined(parseDirectives(value));
  const forms = found.map((each) => ({ text: textOf(each), form: typedForm(each, scope) }));
  const typed = forms.filter(({ form }) => form !== undefined);
  if (typed.length === 0) return [];
  const others = [...new Set(forms.flatMap(({ text, form }) => (form === undefined ? [text] : [])))];
  const more = typed.length - MOST_SHOWN;
  return [
    ...typed.slice(0, MOST_SHOWN).map(({ text, form }) => `In place of ${text}, write ${form}.`),
    ...(more > 0 ? [`${more} more directives have typed forms too.`] : []),
    ...(others.length > 0 ? [`Without a typed form: ${others.slice(0, MOST_SHOWN).join(', ')}.`] : []),
  ];
}

/** All networks of `allow` are one list, and `deny all` after them adds nothing: an allow list excludes all others. */
function joined(directives: readonly Directive[]): Directive[] {
  const isAllow = ({ name }: Directive): boolean => name === 'allow';
  const networks = directives.filter(isAllow).flatMap(({ args }) => args);
  const [first] = directives.filter(isAllow);
  if (first === undefined) return [...directives];
  return directives
    .filter(({ name, args }) => name !== 'deny' || args[0] !== 'all')
    .filter((each) => !isAllow(each) || each === first)
    .map((each) => (each === first ? { name: 'allow', args: [networks.join(',')] } : each));
}

const textOf = ({ name, args }: Directive): string => JSON.stringify([name, ...args].join(' ').slice(0, 60));
