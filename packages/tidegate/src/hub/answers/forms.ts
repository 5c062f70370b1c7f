import { apiVersionOf, type KubeObject } from '@tidegate/kube';
import { ApiError, partialMetadata, type Representation } from '@tidegate/serving';
import { objectOf, type View, type ViewItem } from '../views/index.ts';

/**
 * What is sent of an object: the whole object, or only its metadata (PartialObjectMetadata, in this version of
 * meta.k8s.io).
 */
export type Form = 'whole' | { readonly partialMetadata: string };

/**
 * The form that the client asked for with `as` in its Accept header. Throws 406 for forms that the hub cannot create, for
 * example Table. `representationFor` forwards requests for
 * tables to the API server, or removes tables from the choice, so clients rarely see this error.
 */
export function formOf({ as, version }: Representation, what: 'object' | 'list'): Form {
  if (as === undefined) return 'whole';
  const possible = what === 'list' ? 'PartialObjectMetadataList' : 'PartialObjectMetadata';
  if (as === possible) return { partialMetadata: `meta.k8s.io/${version}` };
  const subject = what === 'list' ? 'a list' : 'an object';
  throw new ApiError(
    406,
    'NotAcceptable',
    `the hub cannot return ${subject} as ${as}; accept application/json or as=${possible}`,
  );
}

export const objectIn = (form: Form, item: ViewItem): KubeObject =>
  form === 'whole' ? objectOf(item) : partialMetadata(objectOf(item), form.partialMetadata);

export const bytesIn = (form: Form, item: ViewItem): Buffer =>
  form === 'whole' ? item.bytes : Buffer.from(JSON.stringify(objectIn(form, item)));

/** The kind and apiVersion of a list, or of a bookmark, of the view. */
export function typeIn(
  form: Form,
  view: View,
  what: 'object' | 'list',
): { kind: string; apiVersion: string } {
  const list = what === 'list' ? 'List' : '';
  if (form !== 'whole') return { kind: `PartialObjectMetadata${list}`, apiVersion: form.partialMetadata };
  const { group, version } = view.key.resource;
  return {
    // A view has no kind only if no list of it ever arrived; then there are no objects either.
    kind: (what === 'list' ? view.listKind : view.kind) ?? list,
    apiVersion: apiVersionOf(group, version),
  };
}
