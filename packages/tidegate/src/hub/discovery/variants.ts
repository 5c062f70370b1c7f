import { mediaRanges } from '@tidegate/serving';

/**
 * The media type parameters that distinguish the formats of a document, for example
 * `as=APIGroupDiscoveryList`.
 */
const FORM_PARAMETERS = ['g', 'v', 'as'];

/**
 * The canonical name of a format. OpenAPI in protobuf is requested as `...@v1.0+protobuf` and returned as
 * `....v1.0+protobuf`; both get the same name.
 */
export function variantOf(contentType: string): string {
  const [range] = mediaRanges(contentType);
  return range === undefined ? '' : spell(range.type, range.parameters).replaceAll(' ', '');
}

/** Parameters that do not change the document. */
const OTHER_PARAMETERS = ['q', 'charset'];

/**
 * Whether the hub knows the meaning of all parameters. An API server may give another document for one that it does not know,
 * which must not be stored as the usual one.
 */
export const isKnownForm = (accept: string | undefined): boolean =>
  mediaRanges(accept ?? '*/*').every(({ parameters }) =>
    [...parameters.keys()].every((name) => [...FORM_PARAMETERS, ...OTHER_PARAMETERS].includes(name)),
  );

/** Returns the variant that the client prefers; undefined if it accepts none of them. */
export function preferred(accept: string | undefined, variants: readonly string[]): string | undefined {
  for (const { type, parameters } of mediaRanges(accept ?? '*/*')) {
    const found = type.includes('*') ? anyOf(type, variants) : find(spell(type, parameters), variants);
    if (found !== undefined) return found;
  }
  return undefined;
}

const spell = (type: string, parameters: ReadonlyMap<string, string>): string =>
  [type.replace('@', '.'), ...FORM_PARAMETERS.flatMap((name) => pair(name, parameters.get(name)))].join(';');

const pair = (name: string, value: string | undefined): string[] =>
  value === undefined ? [] : [`${name}=${value}`];

const find = (variant: string, variants: readonly string[]): string | undefined =>
  variants.find((v) => v === variant);

/** A wildcard selects JSON if possible. It never selects a format that has to be requested with `as=`. */
function anyOf(range: string, variants: readonly string[]): string | undefined {
  const prefix = range.slice(0, range.indexOf('*'));
  const plain = variants.filter((variant) => variant.startsWith(prefix) && !variant.includes(';as='));
  return find('application/json', plain) ?? plain[0];
}
