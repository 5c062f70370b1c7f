import { SelectorError } from './error.ts';
import { labelKeyProblems } from './label-format.ts';
import {
  compare,
  invalid,
  LabelMatcher,
  type LabelOperator,
  type LabelRequirement,
  newRequirement,
} from './labels.ts';

/**
 * Parses the text form: `tier in (web, api), env != test, !legacy`. The grammar is lenient where apimachinery is
 * lenient (`x in (a,,b)` has an empty value) and equally strict elsewhere.
 */
export function parseLabelSelector(text: string): LabelMatcher {
  return new LabelMatcher(new Parser(scan(text)).parse());
}

type Punctuation = '=' | '==' | '!=' | '!' | '(' | ')' | ',' | '>' | '<';
type Token =
  | { readonly type: 'end'; readonly text: '' }
  | { readonly type: 'identifier'; readonly text: string }
  | { readonly type: Punctuation; readonly text: string };

const END: Token = { type: 'end', text: '' };
const TOKEN = /[ \t\r\n]*(?:(==|!=|[=!(),<>])|([^ \t\r\n=!(),<>]+))/g;

function* scan(text: string): Generator<Token> {
  for (const [, punctuation, identifier] of text.matchAll(TOKEN)) {
    if (punctuation !== undefined) yield { type: punctuation as Punctuation, text: punctuation };
    else yield { type: 'identifier', text: identifier! };
  }
}

const BINARY_OPERATORS: Readonly<Record<string, LabelOperator | undefined>> = {
  in: 'in',
  notin: 'notin',
  '=': '=',
  '==': '==',
  '!=': '!=',
  '>': 'gt',
  '<': 'lt',
};
const BINARY_OPERATOR_NAMES = 'in, notin, =, ==, !=, gt, lt';

class Parser {
  readonly #tokens: readonly Token[];
  #position = 0;

  constructor(tokens: Iterable<Token>) {
    this.#tokens = [...tokens];
  }

  parse(): LabelRequirement[] {
    const requirements: LabelRequirement[] = [];
    for (;;) {
      const first = this.#peek();
      if (first.type === 'end') return requirements;
      if (first.type !== 'identifier' && first.type !== '!') {
        throw found(first, ", expected: !, identifier, or 'end of string'");
      }
      requirements.push(this.#requirement());
      const after = this.#take();
      if (after.type === 'end') return requirements;
      if (after.type !== ',') throw found(after, ", expected: ',' or 'end of string'");
      const next = this.#peek();
      if (next.type !== 'identifier' && next.type !== '!')
        throw found(next, ", expected: identifier after ','");
    }
  }

  #requirement(): LabelRequirement {
    try {
      const negated = this.#peek().type === '!';
      if (negated) this.#take();
      const key = this.#key();
      if (negated) return newRequirement(key, '!', []);
      if (this.#atEndOfRequirement()) return newRequirement(key, 'exists', []);
      const operator = this.#operator();
      const values = operator === 'in' || operator === 'notin' ? this.#valueSet() : [this.#exactValue()];
      return newRequirement(key, operator, values);
    } catch (error) {
      if (error instanceof SelectorError) {
        throw new SelectorError(`unable to parse requirement: ${error.message}`);
      }
      throw error;
    }
  }

  #key(): string {
    const token = this.#take();
    if (token.type !== 'identifier') throw found(token, ', expected: identifier');
    const problems = labelKeyProblems(token.text);
    if (problems.length > 0) throw new SelectorError(invalid('<nil>', token.text, problems.join('; ')));
    return token.text;
  }

  #operator(): LabelOperator {
    const token = this.#take();
    const operator = Object.hasOwn(BINARY_OPERATORS, token.text) ? BINARY_OPERATORS[token.text] : undefined;
    if (operator === undefined) throw found(token, `, expected: ${BINARY_OPERATOR_NAMES}`);
    return operator;
  }

  #exactValue(): string {
    if (this.#atEndOfRequirement()) return '';
    const token = this.#take();
    if (token.type !== 'identifier') throw found(token, ', expected: identifier');
    return token.text;
  }

  #valueSet(): string[] {
    const open = this.#take();
    if (open.type !== '(') throw found(open, " expected: '('");
    const first = this.#peek();
    if (first.type === ')') {
      this.#take();
      return [''];
    }
    if (first.type !== 'identifier' && first.type !== ',') {
      throw found(first, ", expected: ',', ')' or identifier");
    }
    return this.#listUntilClosed();
  }

  /** An empty value is between two commas, or between a comma and a parenthesis. */
  #listUntilClosed(): string[] {
    const values = new Set<string>();
    for (;;) {
      const token = this.#take();
      const next = this.#peek();
      if (token.type === 'identifier') {
        values.add(token.text);
        if (next.type !== ',' && next.type !== ')') throw found(next, ", expected: ',' or ')'");
      } else if (token.type === ',') {
        if (values.size === 0 || next.type === ')' || next.type === ',') values.add('');
      } else {
        throw found(token, ", expected: ',', or identifier");
      }
      if (next.type === ')') {
        this.#take();
        return [...values].sort(compare);
      }
    }
  }

  #atEndOfRequirement(): boolean {
    const { type } = this.#peek();
    return type === 'end' || type === ',';
  }

  #peek(): Token {
    return this.#tokens[this.#position] ?? END;
  }

  #take(): Token {
    const token = this.#peek();
    this.#position++;
    return token;
  }
}

const found = (token: Token, expected: string): SelectorError =>
  new SelectorError(`found '${token.text}'${expected}`);
