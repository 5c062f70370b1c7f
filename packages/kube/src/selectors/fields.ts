import { SelectorError } from './error.ts';
import { compare } from './labels.ts';

export interface FieldRequirement {
  readonly field: string;
  readonly operator: '=' | '!=';
  readonly value: string;
}

/** A field selector ready to be asked. A field that an object does not have counts as the empty string. */
export class FieldMatcher {
  readonly requirements: readonly FieldRequirement[];

  constructor(requirements: readonly FieldRequirement[]) {
    this.requirements = requirements;
  }

  /** True when the selector does not restrict anything. */
  get empty(): boolean {
    return this.requirements.length === 0;
  }

  matches(lookup: (field: string) => string | undefined): boolean {
    for (const { field, operator, value } of this.requirements) {
      if (((lookup(field) ?? '') === value) !== (operator === '=')) return false;
    }
    return true;
  }

  /** The value that the field must have, for answering from an index; undefined when it may have several. */
  exactValueOf(field: string): string | undefined {
    return this.requirements.find((r) => r.field === field && r.operator === '=')?.value;
  }

  toString(): string {
    return this.requirements.map((r) => `${r.field}${r.operator}${escapeFieldValue(r.value)}`).join(',');
  }
}

/** Reads `metadata.name=a,status.phase!=Running`. A backslash escapes comma, equals sign and backslash in values. */
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

/** Splits at commas that no backslash protects; the backslashes stay. */
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
