import { apiVersionOf, type KubeObject, keyOf, type Resource } from '@tidegate/kube';
import type { ViewItem } from './view.ts';

/**
 * Encodes an object for a view. API servers omit apiVersion and kind in the items of lists of built-in types; they are
 * added from `resource` and `listKind`, because watch events and single objects need them.
 */
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

/**
 * The last known state of an object that a list no longer contains, with the version of that list. The version of the
 * deletion itself is not known.
 */
export function goneAt(item: ViewItem, resourceVersion: string): ViewItem {
  const object = objectOf(item);
  const metadata = { ...object.metadata, resourceVersion };
  return { key: item.key, resourceVersion, bytes: exactBytes(JSON.stringify({ ...object, metadata })) };
}

export const objectOf = ({ bytes }: ViewItem): KubeObject => JSON.parse(bytes.toString('utf8'));

/**
 * Encodes text into a buffer with memory of its own. `Buffer.from` takes small buffers from a pool of slabs, where one
 * object that stays would keep the memory of all its neighbors.
 */
export function exactBytes(text: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text, 'utf8');
  return bytes;
}
