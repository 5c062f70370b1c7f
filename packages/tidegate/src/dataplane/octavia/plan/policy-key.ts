import type { PolicyKey, Rule } from './state.ts';

/** Order in which policies are tried. It depends on the two keys only, so a policy never has to move. */
export function compareKeys(a: PolicyKey, b: PolicyKey): number {
  return (
    Number(b.section === 'redirect') - Number(a.section === 'redirect') ||
    hostRank(a.host) - hostRank(b.host) ||
    // A host below `**.b.c` is also below `**.c`: the longer name is more specific.
    (a.host.startsWith('**') ? labels(b.host) - labels(a.host) : 0) ||
    compareText(a.host, b.host) ||
    SECTIONS.indexOf(a.section) - SECTIONS.indexOf(b.section) ||
    b.path.length - a.path.length ||
    compareText(a.match, b.match) ||
    compareText(a.path, b.path)
  );
}

const SECTIONS: readonly PolicyKey['section'][] = ['redirect', 'own', 'shared', 'rest'];
const labels = (host: string): number => host.split('.').length;
const compareText = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);

/** Exact hosts, then wildcards, then what is further below a wildcard, then all hosts. */
function hostRank(host: string): number {
  if (host === '') return 3;
  if (host.startsWith('**.')) return 2;
  return host.startsWith('*.') ? 1 : 0;
}

export const keyText = ({ section, host, match, path }: PolicyKey): string =>
  [section, host, match, path].join(' ');

/**
 * The key as tags of the policy. A tag has at most 255 characters; hosts have at most 253, and longer paths do not fit
 * into a rule either.
 */
export const tagsOf = ({ section, host, match, path }: PolicyKey): string[] => [
  `h=${host}`,
  `p=${path}`,
  `s=${section}/${match}`,
];

/** The key of a policy with these tags. Undefined if the policy does not come from Tidegate. */
export function keyOfTags(tags: readonly string[]): PolicyKey | undefined {
  const value = (name: string): string | undefined =>
    tags.find((tag) => tag.startsWith(`${name}=`))?.slice(name.length + 1);
  const [host, path, kind = ''] = [value('h'), value('p'), value('s')];
  const [section, match] = kind.split('/');
  const known = SECTIONS.find((each) => each === section);
  if (host === undefined || path === undefined || known === undefined) return undefined;
  if (match !== 'Exact' && match !== 'Prefix') return undefined;
  return { section: known, host, path, match };
}

/** The longest value of a rule, and the longest tag. */
const MOST_CHARACTERS = 255;

/** The rules of a policy. Undefined if one is too long for Octavia. */
export function rulesOf({ section, host, match, path }: PolicyKey): Rule[] | undefined {
  const rules: Rule[] = [];
  if (host !== '') rules.push({ type: 'HOST_NAME', compare_type: 'REGEX', value: hostPattern(host) });
  const isAnyPath = section === 'redirect' || section === 'rest' || (match === 'Prefix' && path === '/');
  if (!isAnyPath) rules.push(pathRule(path, match));
  // Octavia ignores a policy without rules.
  else if (host === '') rules.push({ type: 'PATH', compare_type: 'STARTS_WITH', value: '/' });
  const isTooLong =
    rules.some(({ value }) => value.length > MOST_CHARACTERS) || `p=${path}`.length > MOST_CHARACTERS;
  return isTooLong ? undefined : rules;
}

/** Octavia compares the whole Host header, with the port and a trailing dot, and ignores the case. */
function hostPattern(host: string): string {
  const tail = '\\.?(:[0-9]{0,5})?$';
  if (host.startsWith('**.')) return `^([a-z0-9_-]{1,63}\\.){2,}${literal(host.slice(3))}${tail}`;
  if (host.startsWith('*.')) return `^[a-z0-9_-]{1,63}\\.${literal(host.slice(2))}${tail}`;
  return `^${literal(host)}${tail}`;
}

/** Characters without a meaning in regular expressions, in the configuration of HAProxy, and in HTML. */
const PLAIN_PATH = /^[A-Za-z0-9/_~-]*$/;

function pathRule(path: string, match: PolicyKey['match']): Rule {
  if (match === 'Exact' && PLAIN_PATH.test(path))
    return { type: 'PATH', compare_type: 'EQUAL_TO', value: path };
  const end = match === 'Exact' ? '$' : '(/|$)';
  return { type: 'PATH', compare_type: 'REGEX', value: `^${literal(path)}${end}` };
}

/**
 * A regular expression for exactly this text. Octavia writes it into the configuration of HAProxy through an HTML
 * template, which changes `&`, quotes and angle brackets. So everything but plain characters is written as a number.
 */
const literal = (text: string): string =>
  text.replace(/[^A-Za-z0-9/_~-]/g, (character) =>
    character === '.' ? '\\.' : `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
