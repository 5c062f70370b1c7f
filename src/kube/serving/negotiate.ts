import { ApiError } from './api-error.ts';

/** How an answer is to be written. `as` is set for the generic forms that clients may ask for instead of the object. */
export interface Representation {
  format: 'json' | 'yaml';
  as?: 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList' | 'APIGroupDiscoveryList';
  /** Version of the generic form: `v1`, `v2` ... */
  version?: string;
}

interface MediaRange {
  type: string;
  parameters: Map<string, string>;
  quality: number;
}

const FORMATS = new Map<string, 'json' | 'yaml'>([
  ['application/json', 'json'],
  ['application/*', 'json'],
  ['*/*', 'json'],
  ['application/yaml', 'yaml'],
]);

const FORMS = new Map([
  ['Table', { group: 'meta.k8s.io', versions: ['v1', 'v1beta1'] }],
  ['PartialObjectMetadata', { group: 'meta.k8s.io', versions: ['v1', 'v1beta1'] }],
  ['PartialObjectMetadataList', { group: 'meta.k8s.io', versions: ['v1', 'v1beta1'] }],
  ['APIGroupDiscoveryList', { group: 'apidiscovery.k8s.io', versions: ['v2', 'v2beta1'] }],
]);

/**
 * The first form in `Accept` that the server can write. Protobuf is never written: every client that asks for it also
 * takes JSON, and one that takes nothing else is told so.
 */
export function negotiate(accept: string | undefined): Representation {
  if (accept === undefined || accept.trim() === '') return { format: 'json' };
  for (const range of mediaRanges(accept)) {
    const format = FORMATS.get(range.type);
    if (format === undefined) continue;
    const as = range.parameters.get('as');
    if (as === undefined) return { format };
    const form = FORMS.get(as);
    const version = range.parameters.get('v') ?? '';
    if (form === undefined || form.group !== range.parameters.get('g') || !form.versions.includes(version))
      continue;
    return { format, as: as as NonNullable<Representation['as']>, version };
  }
  throw new ApiError(
    406,
    'NotAcceptable',
    'only the following media types are accepted: application/json, application/yaml',
  );
}

/** What a client takes, best first. */
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
  // Array.sort is stable: equal qualities keep the client's order.
  return ranges.filter((r) => r.quality > 0).sort((a, b) => b.quality - a.quality);
}
