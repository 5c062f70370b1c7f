import {
  FieldMatcher,
  type KubeObject,
  LabelMatcher,
  ownField,
  parseFieldSelector,
  parseLabelSelector,
  type Resource,
  SelectorError,
  splitKey,
} from '@tidegate/kube';
import { badRequest } from '@tidegate/serving';

/** The namespace and the selectors of a request. */
export interface Selection {
  /** Empty: all namespaces. */
  readonly namespace: string;
  readonly labels: LabelMatcher;
  readonly fields: FieldMatcher;
}

export const EVERYTHING: Selection = {
  namespace: '',
  labels: new LabelMatcher([]),
  fields: new FieldMatcher([]),
};

/** Parses the selectors of a request. Throws 400 for an invalid selector, with the message of the API server. */
export function readSelection(namespace: string, query: URLSearchParams): Selection {
  try {
    return {
      namespace,
      labels: parseLabelSelector(query.get('labelSelector') ?? ''),
      fields: parseFieldSelector(query.get('fieldSelector') ?? ''),
    };
  } catch (error) {
    if (error instanceof SelectorError) throw badRequest(error.message);
    throw error;
  }
}

/** The fields of Services that API servers support in field selectors, besides the metadata. */
const SERVICE_FIELDS = new Set(['spec.clusterIP', 'spec.type']);

/**
 * Whether the hub can evaluate the field selector itself. Requests with other fields are forwarded: the API server
 * evaluates or refuses them.
 */
export const selectable = (resource: Resource, fields: FieldMatcher): boolean =>
  fields.requirements.every(
    ({ field }) =>
      field === 'metadata.name' ||
      (field === 'metadata.namespace' && resource.namespaced) ||
      (resource.group === '' && resource.resource === 'services' && SERVICE_FIELDS.has(field)),
  );

/** Whether the key of an object is enough to decide if it is selected, so that the object need not be parsed. */
export const selectsByKey = ({ labels, fields }: Selection): boolean =>
  labels.empty && fields.requirements.every(({ field }) => field.startsWith('metadata.'));

/** Evaluates the parts of the selection that only need the key of the object. */
export function selectsKey({ namespace, fields }: Selection, key: string): boolean {
  const object = splitKey(key);
  if (namespace !== '' && object.namespace !== namespace) return false;
  return fields.requirements.every(({ field, operator, value }) => {
    if (field === 'metadata.name') return (object.name === value) === (operator === '=');
    if (field === 'metadata.namespace') return ((object.namespace ?? '') === value) === (operator === '=');
    return true;
  });
}

/** Evaluates the parts of the selection that need the parsed object. */
export const selectsObject = ({ labels, fields }: Selection, object: KubeObject): boolean =>
  labels.matches(object.metadata.labels) && fields.matches((path) => fieldOf(object, path));

/** Reads a field of the object from before filtering: selectors mean the object in the API server. */
function fieldOf(object: KubeObject, path: string): string | undefined {
  let value: unknown = object;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = ownField(value as Record<string, unknown>, name);
  }
  return typeof value === 'string' ? value : undefined;
}
