/**
 * A YAML parser for texts of clients, with limits. The parser of the library is fed token by token, so that a text that is
 * too deep or too long is rejected before anything is built from it; deep texts would exhaust the stack.
 */
import { MAX_JSON_BYTES, MAX_JSON_DEPTH } from '@tidegate/kube';
import {
  Composer,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  Parser,
  type Tags,
} from 'yaml';

/** The text is not valid YAML, or exceeds a limit. The message is that of kube-apiserver. */
export class YamlError extends Error {
  override readonly name = 'YamlError';
}

/** The text is valid, but has too many tokens. */
export class YamlTooLongError extends Error {
  override readonly name = 'YamlTooLongError';
}

/** Parsing takes some microseconds for each. Clients such as kubectl convert manifests to JSON, which has no such limit. */
const MAX_TOKENS = 200_000;
/** Looking up an alias takes time as well. */
const MAX_ALIASES = 1000;
/** Each level of a document has at most this many entries on the stack of the parser. */
const STACK_PER_LEVEL = 2;

/** YAML 1.1 as in kube-apiserver: `yes` is true and `010` is 8, but dates and times stay strings. */
const tags = (all: Tags): Tags =>
  all.filter((tag) => {
    if (typeof tag === 'string') return true;
    const isTimeOfDay = 'format' in tag && tag.format === 'TIME';
    return (
      !isTimeOfDay && !['timestamp', 'binary', 'omap', 'pairs', 'set'].some((t) => tag.tag.endsWith(`:${t}`))
    );
  });

export interface ParsedYaml {
  document: Document.Parsed;
  lineCounter: LineCounter;
}

/** Parses the first document of a text. Throws a YamlError or a YamlTooLongError. */
export function parseYaml(text: string): ParsedYaml {
  const lineCounter = new LineCounter();
  const parser = new Parser(lineCounter.addNewLine);
  const composer = new Composer({
    version: '1.1',
    customTags: tags,
    uniqueKeys: false,
    prettyErrors: false,
    lineCounter,
  });
  const tokens = function* (): ReturnType<Parser['parse']> {
    lineCounter.addNewLine(0);
    const count = new TokenCount();
    for (const lexeme of new Lexer().lex(text)) {
      count.add(lexeme);
      if (parser.stack.length > MAX_JSON_DEPTH * STACK_PER_LEVEL) throw tooDeep();
      yield* parser.next(lexeme);
    }
    yield* parser.end();
  };
  const [document] = composer.compose(tokens(), true, text.length);
  const parsed = document as Document.Parsed;
  const [error] = parsed.errors;
  if (error !== undefined) {
    const { line } = lineCounter.linePos(error.pos[0]);
    throw new YamlError(`yaml: line ${line}: ${error.message}`);
  }
  new Expansion(parsed).check();
  return { document: parsed, lineCounter };
}

/** What comes before a scalar in the output of the lexer, so that its text is not taken for a token. */
const SCALAR = '\x1f';

class TokenCount {
  #tokens = 0;
  #aliases = 0;
  #isScalar = false;

  add(lexeme: string): void {
    if (++this.#tokens > MAX_TOKENS)
      throw new YamlTooLongError(`the YAML document has more than ${MAX_TOKENS} tokens`);
    if (!this.#isScalar && lexeme.startsWith('*') && ++this.#aliases > MAX_ALIASES) throw tooManyAliases();
    this.#isScalar = lexeme === SCALAR;
  }
}

const tooDeep = (): YamlError => new YamlError(`yaml: exceeded max depth of ${MAX_JSON_DEPTH}`);
const tooManyAliases = (): YamlError => new YamlError('yaml: document contains excessive aliasing');

interface Extent {
  size: number;
  depth: number;
}

/**
 * How large and how deep a document is when its aliases are replaced. Nine levels of nine aliases are a gigabyte. Each node
 * is measured once, whatever the number of its aliases.
 */
class Expansion {
  readonly #document: Document.Parsed;
  readonly #extents = new Map<Node, Extent | 'in progress'>();

  constructor(document: Document.Parsed) {
    this.#document = document;
  }

  check(): void {
    this.#extentOf(this.#document.contents);
  }

  #extentOf(node: unknown): Extent {
    if (isAlias(node)) return this.#extentOfAlias(node.source, node.resolve(this.#document));
    if (isScalar(node)) return { size: String(node.source ?? node.value).length + 3, depth: 0 };
    if (!isMap(node) && !isSeq(node)) return { size: 3, depth: 0 };
    const known = this.#extents.get(node);
    if (typeof known === 'object') return known;
    this.#extents.set(node, 'in progress');
    const extent: Extent = { size: 3, depth: 1 };
    const parts: unknown[] = isMap(node) ? node.items.flatMap(({ key, value }) => [key, value]) : node.items;
    for (const part of parts) {
      const { size, depth } = this.#extentOf(part);
      extent.size += size;
      extent.depth = Math.max(extent.depth, depth + 1);
    }
    if (extent.size > MAX_JSON_BYTES) throw tooManyAliases();
    if (extent.depth > MAX_JSON_DEPTH) throw tooDeep();
    this.#extents.set(node, extent);
    return extent;
  }

  #extentOfAlias(name: string, target: Node | undefined): Extent {
    if (target === undefined) throw new YamlError(`yaml: unknown anchor '${name}' referenced`);
    if (this.#extents.get(target) === 'in progress')
      throw new YamlError(`yaml: anchor '${name}' value contains itself`);
    return this.#extentOf(target);
  }
}
