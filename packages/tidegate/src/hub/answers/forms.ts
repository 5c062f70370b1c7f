import { apiVersionOf, type KubeObject } from '@tidegate/kube';
import { ApiError, partialMetadata, type Representation } from '@tidegate/serving';
import { objectOf, type View, type ViewItem } from '../views/index.ts';

/** What is sent of an object: its bytes as they are, or a generic form of it. */
export type Form = 'whole' | { readonly partialMetadata: string };

/** Refuses the forms that the hub can not make, which clients are to be kept from by forwarding the request. */
export function formOf({ as, version }: Representation, what: 'object' | 'list'): Form {
  if (as === undefined) return 'whole';
  const possible = what === 'list' ? 'PartialObjectMetadataList' : 'PartialObjectMetadata';
  if (as === possible) return { partialMetadata: `meta.k8s.io/${version}` };
  const article = what === 'list' ? 'a list' : 'one object';
  throw new ApiError(406, 'NotAcceptable', `${article} can not be written as ${as}`);
}

export const objectIn = (form: Form, item: ViewItem): KubeObject =>
  form === 'whole' ? objectOf(item) : partialMetadata(objectOf(item), form.partialMetadata);

export const bytesIn = (form: Form, item: ViewItem): Buffer =>
  form === 'whole' ? item.bytes : Buffer.from(JSON.stringify(objectIn(form, item)));

/** What a list or a bookmark of the view says that it is. */
export function typeIn(
  form: Form,
  view: View,
  what: 'object' | 'list',
): { kind: string; apiVersion: string } {
  const list = what === 'list' ? 'List' : '';
  if (form !== 'whole') return { kind: `PartialObjectMetadata${list}`, apiVersion: form.partialMetadata };
  const { group, version } = view.key.resource;
  return {
    // Without a kind it was always an empty list, and nobody looks at what it is of.
    kind: (what === 'list' ? view.listKind : view.kind) ?? list,
    apiVersion: apiVersionOf(group, version),
  };
}
