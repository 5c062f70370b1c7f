/**
 * A JSON parser with the error messages of Go's decoder and with detection of duplicate keys. The fast path is
 * JSON.parse; the scanner below runs only for invalid documents and for strict field validation.
 */
import { tooDeepAt } from '@tidegate/kube';
import { quoteCharacter } from '@tidegate/serving';

/** The document is not valid JSON. The message is that of Go's decoder. */
export class JsonSyntaxError extends Error {
  override readonly name = 'JsonSyntaxError';
}

export function parseJson(text: string): unknown {
  // Before anything else: the scanner below, and most users of the value, are recursive.
  const at = tooDeepAt(text);
  if (at >= 0) throw new JsonSyntaxError(`invalid character '${text[at]}' exceeded max depth`);
  try {
    return JSON.parse(text);
  } catch (cause) {
    new Scanner(text, false).document();
    // The scanner accepts slightly more than JSON.parse. In that case, the message of JSON.parse is used.
    throw new JsonSyntaxError(cause instanceof Error ? cause.message : String(cause));
  }
}

/**
 * The paths of duplicate keys, for example `spec.containers[0].image`, in document order. The text must be valid
 * JSON.
 */
export function duplicateKeys(text: string): string[] {
  const scanner = new Scanner(text, true);
  scanner.document();
  return [...scanner.duplicates];
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** A recursive-descent parser that builds no values. It only finds errors and duplicate keys. */
class Scanner {
  readonly duplicates = new Set<string>();
  readonly #text: string;
  /** The text is known to be valid JSON, so strings can be skipped without checking each character. */
  readonly #trusted: boolean;
  readonly #path: (string | number)[] = [];
  #at = 0;

  constructor(text: string, trusted: boolean) {
    this.#text = text;
    this.#trusted = trusted;
  }

  document(): void {
    this.#value();
    this.#skipSpace();
    if (this.#at < this.#text.length) throw this.#unexpected('after top-level value');
  }

  #value(): void {
    this.#skipSpace();
    const char = this.#text[this.#at];
    if (char === '{') this.#object();
    else if (char === '[') this.#array();
    else if (char === '"') this.#string();
    else if (char === 't') this.#literal('true');
    else if (char === 'f') this.#literal('false');
    else if (char === 'n') this.#literal('null');
    else if (char === '-' || isDigit(char)) this.#number();
    else throw this.#unexpected('looking for beginning of value');
  }

  #object(): void {
    const keys = new Set<string>();
    this.#at++;
    this.#skipSpace();
    if (this.#take('}')) return;
    for (;;) {
      this.#skipSpace();
      if (this.#text[this.#at] !== '"') throw this.#unexpected('looking for beginning of object key string');
      const key = this.#string();
      this.#path.push(key);
      if (keys.has(key)) this.duplicates.add(pathText(this.#path));
      keys.add(key);
      this.#skipSpace();
      if (!this.#take(':')) throw this.#unexpected('after object key');
      this.#value();
      this.#path.pop();
      this.#skipSpace();
      if (this.#take('}')) return;
      if (!this.#take(',')) throw this.#unexpected('after object key:value pair');
    }
  }

  #array(): void {
    this.#at++;
    this.#skipSpace();
    if (this.#take(']')) return;
    for (let index = 0; ; index++) {
      this.#path.push(index);
      this.#value();
      this.#path.pop();
      this.#skipSpace();
      if (this.#take(']')) return;
      if (!this.#take(',')) throw this.#unexpected('after array element');
    }
  }

  #string(): string {
    const start = ++this.#at;
    if (this.#trusted) {
      const end = this.#text.indexOf('"', start);
      if (this.#text.charCodeAt(end - 1) !== BACKSLASH) {
        const raw = this.#text.slice(start, end);
        if (!raw.includes('\\')) {
          this.#at = end + 1;
          return raw;
        }
      }
    }
    let escaped = false;
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (code === QUOTE) break;
      if (Number.isNaN(code) || code < 0x20) throw this.#unexpected('in string literal');
      if (code === BACKSLASH) {
        escaped = true;
        this.#escape();
      } else this.#at++;
    }
    const raw = this.#text.slice(start, this.#at++);
    return escaped ? (JSON.parse(`"${raw}"`) as string) : raw;
  }

  #escape(): void {
    this.#at++;
    const char = this.#text[this.#at];
    if (char === undefined || !'"\\/bfnrtu'.includes(char)) throw this.#unexpected('in string escape code');
    this.#at++;
    if (char !== 'u') return;
    for (let i = 0; i < 4; i++, this.#at++) {
      if (!/[0-9a-fA-F]/.test(this.#text[this.#at] ?? '')) {
        throw this.#unexpected('in \\u hexadecimal character escape');
      }
    }
  }

  #literal(word: string): void {
    for (const [index, char] of [...word].entries()) {
      if (this.#text[this.#at] !== char) {
        throw this.#unexpected(index === 0 ? '' : `in literal ${word} (expecting '${char}')`);
      }
      this.#at++;
    }
  }

  #number(): void {
    this.#take('-');
    if (!this.#take('0')) this.#digits('in numeric literal');
    if (this.#take('.')) this.#digits('after decimal point in numeric literal');
    if (this.#take('e') || this.#take('E')) {
      if (!this.#take('+')) this.#take('-');
      this.#digits('in exponent of numeric literal');
    }
  }

  #digits(where: string): void {
    if (!isDigit(this.#text[this.#at])) throw this.#unexpected(where);
    while (isDigit(this.#text[this.#at])) this.#at++;
  }

  #take(char: string): boolean {
    if (this.#text[this.#at] !== char) return false;
    this.#at++;
    return true;
  }

  #skipSpace(): void {
    for (;;) {
      const char = this.#text[this.#at];
      if (char !== ' ' && char !== '\n' && char !== '\r' && char !== '\t') return;
      this.#at++;
    }
  }

  #unexpected(where: string): JsonSyntaxError {
    const char = this.#text[this.#at];
    if (char === undefined) return new JsonSyntaxError('unexpected end of JSON input');
    return new JsonSyntaxError(`invalid character ${quoteCharacter(char)} ${where}`);
  }
}

/** For example `spec.containers[0].image`. */
export function pathText(path: readonly (string | number)[]): string {
  let text = '';
  for (const segment of path) {
    if (typeof segment === 'number') text += `[${segment}]`;
    else text += text === '' ? segment : `.${segment}`;
  }
  return text;
}

const isDigit = (char: string | undefined): boolean => char !== undefined && char >= '0' && char <= '9';
