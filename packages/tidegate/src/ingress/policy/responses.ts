import {
  compilePattern,
  groupOf,
  MAX_STEPS,
  OutOfSteps,
  type Pattern,
  PatternError,
  runPattern,
} from '../regex/index.ts';
import type { PolicyReader } from './annotation-reader.ts';
import {
  fillUrl,
  parseUrlTemplate,
  type UrlFacts,
  type UrlTemplate,
  urlText,
  type Variable,
} from './url-template.ts';

/** Headers of endpoints that clients get with another text: other hosts and paths than those that the endpoint knows. */
export interface Responses {
  /** The headers Location and Refresh. */
  readonly redirect?: Replacement;
  /** The attributes Domain and Path of cookies. */
  readonly cookieDomain?: Replacement;
  readonly cookiePath?: Replacement;
}

/** What is replaced, and by what. */
export interface Replacement {
  /** A whole domain, or the beginning of another text; or a regular expression, whose match replaces the whole text. */
  readonly from: UrlTemplate | Pattern;
  /** Numbers are groups of the expression. */
  readonly to: readonly (string | Variable | number)[];
}

export function readResponses(reader: PolicyReader): Responses | undefined {
  const redirect = readRedirect(reader);
  const cookieDomain = readPair(reader, 'proxy-cookie-domain');
  const cookiePath = readPair(reader, 'proxy-cookie-path');
  if (redirect === undefined && cookieDomain === undefined && cookiePath === undefined) return undefined;
  return {
    ...(redirect && { redirect }),
    ...(cookieDomain && { cookieDomain }),
    ...(cookiePath && { cookiePath }),
  };
}

/** As in ingress-nginx, one annotation without the other has no effect, and `default` has none: endpoints have no names. */
function readRedirect(reader: PolicyReader): Replacement | undefined {
  const from = reader.text('proxy-redirect-from') || 'off';
  const to = reader.text('proxy-redirect-to') || 'off';
  if (from === 'off' || from === 'default') return undefined;
  const result = replacement(from, to);
  if (typeof result !== 'string') return to === 'off' ? undefined : result;
  const isFrom = typeof replacement(from, '') === 'string';
  reader.invalid(
    isFrom ? 'proxy-redirect-from' : 'proxy-redirect-to',
    isFrom ? from : to,
    `off or a text for URLs: ${result}`,
  );
  return undefined;
}

function readPair(reader: PolicyReader, name: string): Replacement | undefined {
  const text = reader.text(name) || 'off';
  if (text === 'off') return undefined;
  const [from = '', to = '', ...rest] = text.split(/[ \t]+/);
  const isPair = to !== '' && rest.length === 0 && !text.includes(';');
  const result = isPair ? replacement(from, to) : 'two texts without semicolons are needed';
  if (typeof result !== 'string') return result;
  reader.invalid(name, text, `off, or a text and its replacement, separated by a space: ${result}`);
  return undefined;
}

const MOST_CHARACTERS = 500;

/** The reason if it is not valid. */
function replacement(from: string, to: string): Replacement | string {
  if (from.length > MOST_CHARACTERS || to.length > MOST_CHARACTERS)
    return `at most ${MOST_CHARACTERS} characters are allowed`;
  const [, expression] = /^~\*?(.*)$/.exec(from) ?? [];
  const parts = withGroups(to, expression !== undefined);
  if (parts === undefined) return 'the replacement has characters, variables or groups that are not allowed';
  if (expression === undefined) {
    const plain = parseUrlTemplate(from);
    return plain === undefined
      ? 'the text has characters or variables that are not allowed'
      : { from: plain, to: parts };
  }
  try {
    const groups = new Set(parts.filter((part) => typeof part === 'number'));
    return { from: compilePattern(expression, groups, '', from.startsWith('~*')), to: parts };
  } catch (error) {
    if (error instanceof PatternError) return `the regular expression is not supported: ${error.message}`;
    throw error;
  }
}

function withGroups(text: string, hasGroups: boolean): Replacement['to'] | undefined {
  const parts: (string | Variable | number)[] = [];
  for (const [at, piece] of text.split(/\$([1-9])(?![A-Za-z0-9_])|\$\{([1-9])\}/).entries()) {
    if (piece === undefined || piece === '') continue;
    const read = at % 3 === 0 ? parseUrlTemplate(piece) : hasGroups ? [Number(piece)] : undefined;
    if (read === undefined) return undefined;
    parts.push(...read);
  }
  return parts;
}

/** The text in its place; undefined if it stays. `responses.lua` is the same for nginx. */
function replaced(
  { from, to }: Replacement,
  text: string,
  facts: UrlFacts,
  matchesWhole: boolean,
): string | undefined {
  const fill = (group: (number: number) => string): string =>
    to.map((part) => (typeof part === 'number' ? group(part) : fillUrl([part], facts))).join('');
  if ('code' in from) {
    const slots = run(from, text);
    return slots && fill((number) => groupOf(slots, number, text));
  }
  const wanted = fillUrl(from, facts);
  if (matchesWhole) return withoutDot(wanted) === withoutDot(text) ? withoutDot(fill(() => '')) : undefined;
  return text.startsWith(wanted) ? fill(() => '') + text.slice(wanted.length) : undefined;
}

/** As in nginx, the case of domains and a dot before them do not count. */
const withoutDot = (domain: string): string => domain.replace(/^\./, '').toLowerCase();

function run(pattern: Pattern, text: string): ReturnType<typeof runPattern> {
  try {
    return runPattern(pattern, text, { left: MAX_STEPS });
  } catch (error) {
    if (error instanceof OutOfSteps) return undefined;
    throw error;
  }
}

/** The value of a header of an endpoint for the client. `lower` is its name. */
export function rewriteResponse(own: Responses, lower: string, value: string, facts: UrlFacts): string {
  if (lower === 'location') return (own.redirect && location(own.redirect, value, facts)) ?? value;
  if (lower === 'refresh') {
    const [, before = '', url] = /^(.*?url=)(.*)$/i.exec(value) ?? [];
    const after =
      url === undefined || own.redirect === undefined ? undefined : replaced(own.redirect, url, facts, false);
    return after === undefined ? value : before + after;
  }
  return lower === 'set-cookie' ? cookie(own, value, facts) : value;
}

/** As in nginx, a changed location that is a path gets the scheme and the host. */
function location(redirect: Replacement, value: string, facts: UrlFacts): string | undefined {
  const result = replaced(redirect, value, facts, false);
  if (result === undefined || !result.startsWith('/') || facts.name === '') return result;
  return `${facts.secure ? 'https' : 'http'}://${facts.name}${result}`;
}

function cookie({ cookieDomain, cookiePath }: Responses, value: string, facts: UrlFacts): string {
  const [first = '', ...attributes] = value.split(';');
  const changed = attributes.map((attribute) => {
    const [, before = '', name = '', text = '', after = ''] =
      /^([ \t]*([A-Za-z]+)[ \t]*=[ \t]*)(.*?)([ \t]*)$/.exec(attribute) ?? [];
    const isDomain = name.toLowerCase() === 'domain';
    const rule = isDomain ? cookieDomain : name.toLowerCase() === 'path' ? cookiePath : undefined;
    const result = rule && replaced(rule, text, facts, isDomain);
    // A variable must not add another attribute.
    return result === undefined || result.includes(';') ? attribute : before + result + after;
  });
  return [first, ...changed].join(';');
}

export function describeResponses({ redirect, cookieDomain, cookiePath }: Responses): string[] {
  const text = ({ from, to }: Replacement): string => {
    const target = to.map((part) => (typeof part === 'number' ? `$${part}` : urlText([part]))).join('');
    return `${'code' in from ? 'what its expression matches' : urlText(from)} by ${target}`;
  };
  return [
    ...(redirect ? [`replaces ${text(redirect)} in redirects`] : []),
    ...(cookieDomain ? [`replaces ${text(cookieDomain)} in domains of cookies`] : []),
    ...(cookiePath ? [`replaces ${text(cookiePath)} in paths of cookies`] : []),
  ];
}
