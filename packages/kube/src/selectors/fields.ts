import { SelectorError } from './error.ts';
import { compare } from './labels.ts';

export interface FieldRequirement {
  readonly field: string;
  readonly operator: '=' | '!=';
  readonly value: string;
}

/** A parsed field selector. A field that an object does not have counts as the empty string. */
export class FieldMatcher {
  readonly requirements: readonly FieldRequirement[];

  constructor(requirements: readonly FieldRequirement[]) {
    this.requirements = requirements;
  }

  /** True if the selector selects everything. */
  get empty(): boolean {
    return this.requirements.length === 0;
  }

  matches(lookup: (field: string) => string | undefined): boolean {
    for (const { field, operator, value } of this.requirements) {
      if (((lookup(field) ?? '') === value) !== (operator === '=')) return false;
    }
    return true;
  }

  /** The only value that the field may have, so that a caller can use an index; undefined if it may have several. */
  exactValueOf(field: string): string | undefined {
    return this.requirements.find((r) => r.field === field && r.operator === '=')?.value;
  }

  toString(): string {
    return this.requirements.map((r) => `${r.field}${r.operator}${escapeFieldValue(r.value)}`).join(',');
  }
}

/**
 * Parses `metadata.name=a,status.phase!=Running`. A backslash escapes commas, equals signs and backslashes in values.
 */
export function parseFieldSelector(text: string): FieldMatcher {
  const requirements: FieldRequirement[] = [];
  for (const term of splitTerms(text).sort(compare)) {
    if (term === '') continue;
    const match = /!=|==|=/.exec(term);
    if (match === null) {
      throw new SelectorError(`invalid selector: '${text}'; can't understand '${term}'`);
    }
    const field = term.slice(0, match.index);
    const value = unescapeFieldValue(term.slice(match.index + match[0].length));
    if (field === '' && value === '') continue;
    requirements.push({ field, operator: match[0] === '!=' ? '!=' : '=', value });
  }
  return new FieldMatcher(requirements);
}

export const escapeFieldValue = (value: string): string => value.replace(/[\\,=]/g, '\\$&');

/** Splits at commas that are not escaped. The backslashes stay. */
const splitTerms = (text: string): string[] => text.match(/(?:\\[\s\S]|[^\\,]|\\$)+/g) ?? [];

function unescapeFieldValue(escaped: string): string {
  let value = '';
  const characters = escaped[Symbol.iterator]();
  for (let c = characters.next(); c.done !== true; c = characters.next()) {
    if (c.value === ',' || c.value === '=') {
      throw new SelectorError(
        `invalid field selector: unescaped character in value: ${c.value.codePointAt(0)}`,
      );
    }
    if (c.value !== '\\') {
      value += c.value;
      continue;
    }
    const next: string = characters.next().value ?? '';
    if (next !== '\\' && next !== ',' && next !== '=') {
      throw new SelectorError(`invalid field selector: invalid escape sequence: \\${next}`);
    }
    value += next;
  }
  return value;
}
