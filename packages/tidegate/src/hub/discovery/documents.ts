import { type Document, decodeDocument, encodeDocument } from './document.ts';
import { preferred, variantOf } from './variants.ts';

/** The methods of DurableMap that are used here. */
export interface DocumentMap {
  get(key: string): Promise<Buffer | undefined>;
  keys(prefix: string): Iterable<string>;
  put(key: string, value: Buffer): void;
  delete(key: string): void;
}

const PREFIX = 'discovery ';

/**
 * The stored documents. A path has one document for each format (JSON, protobuf, aggregated and so on) that a
 * client has requested.
 */
export class Documents {
  readonly #map: DocumentMap;
  /** The stored formats of each path. */
  readonly #variants = new Map<string, Set<string>>();

  constructor(map: DocumentMap) {
    this.#map = map;
    for (const key of map.keys(PREFIX)) {
      const [path = '', variant = ''] = key.slice(PREFIX.length).split(' ');
      this.#remember(path, variant);
    }
  }

  /** Returns the format that the client prefers, or undefined if it accepts none of the stored formats. */
  async find(path: string, accept: string | undefined): Promise<Document | undefined> {
    const variant = preferred(accept, this.#variantsOf(path));
    const bytes = variant === undefined ? undefined : await this.#map.get(keyOf(path, variant));
    return bytes === undefined ? undefined : decodeDocument(bytes);
  }

  has(path: string, accept: string): boolean {
    return preferred(accept, this.#variantsOf(path)) !== undefined;
  }

  /** Does not write a document that is stored already, to spare flash storage. */
  async put(path: string, document: Document): Promise<void> {
    const variant = variantOf(document.headers['content-type'] ?? '');
    const key = keyOf(path, variant);
    const bytes = encodeDocument(document);
    if ((await this.#map.get(key))?.equals(bytes) !== true) this.#map.put(key, bytes);
    this.#remember(path, variant);
  }

  /** Deletes the document in all formats. */
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

/** Unambiguous, because paths and media types contain no spaces. */
const keyOf = (path: string, variant: string): string => `${PREFIX}${path} ${variant}`;
