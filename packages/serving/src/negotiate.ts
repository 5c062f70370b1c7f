import { ApiError } from './api-error.ts';

export type Format = 'json' | 'yaml' | 'protobuf';

/**
 * The representation of an answer. `as` is set for the generic forms that clients may request instead of the object.
 */
export interface Representation<F extends Format = 'json' | 'yaml'> {
  format: F;
  as?: 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList' | 'APIGroupDiscoveryList';
  /** The version of the generic form, for example `v1`. */
  version?: string;
}

interface MediaRange {
  type: string;
  parameters: Map<string, string>;
  quality: number;
}

/** The media types. */
export const MEDIA_TYPES: Readonly<Record<Format, string>> = {
  json: 'application/json',
  yaml: 'application/yaml',
  protobuf: 'application/vnd.kubernetes.protobuf',
};

const FORMATS = new Map<string, Format>([
  [MEDIA_TYPES.json, 'json'],
  ['application/*', 'json'],
  ['*/*', 'json'],
  [MEDIA_TYPES.yaml, 'yaml'],
  [MEDIA_TYPES.protobuf, 'protobuf'],
]);

const FORMS = new Map([
  ['Table', { group: 'meta.k8s.io', versions: ['v1', 'v1beta1'] }],
  ['PartialObjectMetadata', { group: 'meta.k8s.io', versions: ['v1', 'v1beta1'] }],
  ['PartialObjectMetadataList', { group: 'meta.k8s.io', versions: ['v1', 'v1beta1'] }],
  ['APIGroupDiscoveryList', { group: 'apidiscovery.k8s.io', versions: ['v2', 'v2beta1'] }],
]);

/**
 * For a server that does not write protobuf. Clients that request protobuf usually accept JSON as well; one that does
 * not gets an error.
 */
export const negotiate = (accept: string | undefined): Representation =>
  negotiateAmong(accept, ['json', 'yaml']);

/** Whether the server can send this form of the answer in this format. */
export type Allows = (format: Format, as: Representation['as']) => boolean;

/**
 * The first representation in `Accept` that the server supports. `allows` can exclude combinations; without `Accept`, the
 * answer is JSON.
 */
export function negotiateAmong<F extends Format>(
  accept: string | undefined,
  formats: readonly F[],
  allows: Allows = () => true,
): Representation<F | 'json'> {
  if (accept === undefined || accept.trim() === '') return { format: 'json' };
  const written: readonly (Format | undefined)[] = formats;
  const isWritten = (format: Format | undefined): format is F => written.includes(format);
  for (const range of mediaRanges(accept)) {
    const format = FORMATS.get(range.type);
    if (!isWritten(format)) continue;
    const as = range.parameters.get('as');
    if (!allows(format, as as Representation['as'])) continue;
    if (as === undefined) return { format };
    const form = FORMS.get(as);
    const version = range.parameters.get('v') ?? '';
    if (form === undefined || form.group !== range.parameters.get('g') || !form.versions.includes(version))
      continue;
    return { format, as: as as NonNullable<Representation['as']>, version };
  }
  const types = formats.map((format) => MEDIA_TYPES[format]).join(', ');
  throw new ApiError(406, 'NotAcceptable', `only the following media types are accepted: ${types}`);
}

/** The media types that a client accepts, best first. */
export function mediaRanges(accept: string): MediaRange[] {
  const ranges = accept.split(',').map((part): MediaRange => {
    const [type = '', ...parameters] = part.split(';').map((s) => s.trim());
    const pairs = parameters.map((p): [string, string] => {
      const equals = p.indexOf('=');
      return equals < 0 ? [p, ''] : [p.slice(0, equals), p.slice(equals + 1)];
    });
    const map = new Map(pairs);
    return { type: type.toLowerCase(), parameters: map, quality: Number(map.get('q') ?? 1) };
  });
  // Array.sort is stable: types of equal quality keep the order of the client.
  return ranges.filter((r) => r.quality > 0).sort((a, b) => b.quality - a.quality);
}
