import { type Document, decodeDocument, encodeDocument } from './document.ts';
import { preferred, variantOf } from './variants.ts';

/** What is needed of a DurableMap. */
export interface DocumentMap {
  get(key: string): Promise<Buffer | undefined>;
  keys(prefix: string): Iterable<string>;
  put(key: string, value: Buffer): void;
  delete(key: string): void;
}

const PREFIX = 'discovery ';

/** The documents that are kept, each path in every form that was ever asked for. */
export class Documents {
  readonly #map: DocumentMap;
  /** The forms of each path. */
  readonly #variants = new Map<string, Set<string>>();

  constructor(map: DocumentMap) {
    this.#map = map;
    for (const key of map.keys(PREFIX)) {
      const [path = '', variant = ''] = key.slice(PREFIX.length).split(' ');
      this.#remember(path, variant);
    }
  }

  /** In the form that the client likes best. */
  async find(path: string, accept: string | undefined): Promise<Document | undefined> {
    const variant = preferred(accept, this.#variantsOf(path));
    const bytes = variant === undefined ? undefined : await this.#map.get(keyOf(path, variant));
    return bytes === undefined ? undefined : decodeDocument(bytes);
  }

  has(path: string, accept: string): boolean {
    return preferred(accept, this.#variantsOf(path)) !== undefined;
  }

  /** Nothing is written when it is known already: flash wears out. */
  async put(path: string, document: Document): Promise<void> {
    const variant = variantOf(document.headers['content-type'] ?? '');
    const key = keyOf(path, variant);
    const bytes = encodeDocument(document);
    if ((await this.#map.get(key))?.equals(bytes) !== true) this.#map.put(key, bytes);
    this.#remember(path, variant);
  }

  /** In all its forms. */
  remove(path: string): void {
    for (const variant of this.#variantsOf(path)) this.#map.delete(keyOf(path, variant));
    this.#variants.delete(path);
  }

  paths(): string[] {
    return [...this.#variants.keys()];
  }

  #variantsOf(path: string): string[] {
    return [...(this.#variants.get(path) ?? [])];
  }

  #remember(path: string, variant: string): void {
    const variants = this.#variants.get(path) ?? new Set();
    this.#variants.set(path, variants.add(variant));
  }
}

/** Paths and media types have no blanks in them. */
const keyOf = (path: string, variant: string): string => `${PREFIX}${path} ${variant}`;
