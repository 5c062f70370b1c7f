import { mediaRanges } from '@tidegate/serving';

/** What tells the forms of one document apart, besides the media type. */
const FORM_PARAMETERS = ['g', 'v', 'as'];

/** The form of an answer in one spelling. Protobuf is asked for as `...@v1.0+protobuf` and comes as `....v1.0+protobuf`. */
export function variantOf(contentType: string): string {
  const [range] = mediaRanges(contentType);
  return range === undefined ? '' : spell(range.type, range.parameters).replaceAll(' ', '');
}

/** The one among `variants` that a client likes best; undefined when it takes none of them. */
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

/** Whoever takes anything gets JSON, and never a form that has to be asked for. */
function anyOf(range: string, variants: readonly string[]): string | undefined {
  const prefix = range.slice(0, range.indexOf('*'));
  const plain = variants.filter((variant) => variant.startsWith(prefix) && !variant.includes(';as='));
  return find('application/json', plain) ?? plain[0];
}
