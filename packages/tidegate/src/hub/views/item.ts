import { apiVersionOf, type KubeObject, keyOf, type Resource } from '@tidegate/kube';
import type { ViewItem } from './view.ts';

/** `listKind` says what items are that do not say it themselves, as those of built-in lists. */
export function itemOf(object: KubeObject, resource: Resource, listKind = ''): ViewItem {
  const complete =
    object.kind !== undefined && object.apiVersion !== undefined
      ? object
      : {
          ...object,
          kind: listKind.replace(/List$/, ''),
          apiVersion: apiVersionOf(resource.group, resource.version),
        };
  return {
    key: keyOf(object),
    resourceVersion: object.metadata.resourceVersion ?? '',
    bytes: exactBytes(JSON.stringify(complete)),
  };
}

/** The last state of an object that was found to be gone; nobody has seen the deletion itself. */
export function goneAt(item: ViewItem, resourceVersion: string): ViewItem {
  const object = objectOf(item);
  const metadata = { ...object.metadata, resourceVersion };
  return { key: item.key, resourceVersion, bytes: exactBytes(JSON.stringify({ ...object, metadata })) };
}

export const objectOf = ({ bytes }: ViewItem): KubeObject => JSON.parse(bytes.toString('utf8'));

/** Outside Node's pool: of a slab there, one object that stays would hold the memory of all that went. */
export function exactBytes(text: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text, 'utf8');
  return bytes;
}
