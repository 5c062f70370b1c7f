import {
  FieldMatcher,
  type KubeObject,
  LabelMatcher,
  parseFieldSelector,
  parseLabelSelector,
  type Resource,
  SelectorError,
  splitKey,
} from '@tidegate/kube';
import { badRequest } from '@tidegate/serving';

/** Which objects of a resource a client wants. */
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

/** Refuses what is no selector in the words of an API server. */
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

const SERVICE_FIELDS = new Set(['spec.clusterIP', 'spec.type']);

/** Whether the hub can tell itself which objects match. What it can not, the API server selects, or refuses. */
export const selectable = (resource: Resource, fields: FieldMatcher): boolean =>
  fields.requirements.every(
    ({ field }) =>
      field === 'metadata.name' ||
      (field === 'metadata.namespace' && resource.namespaced) ||
      (resource.group === '' && resource.resource === 'services' && SERVICE_FIELDS.has(field)),
  );

/** Whether the key of an object alone says if it is selected. */
export const selectsByKey = ({ labels, fields }: Selection): boolean =>
  labels.empty && fields.requirements.every(({ field }) => field.startsWith('metadata.'));

/** As far as the key says. */
export function selectsKey({ namespace, fields }: Selection, key: string): boolean {
  const object = splitKey(key);
  if (namespace !== '' && object.namespace !== namespace) return false;
  return fields.requirements.every(({ field, operator, value }) => {
    if (field === 'metadata.name') return (object.name === value) === (operator === '=');
    if (field === 'metadata.namespace') return ((object.namespace ?? '') === value) === (operator === '=');
    return true;
  });
}

export const selectsObject = ({ labels, fields }: Selection, object: KubeObject): boolean =>
  labels.matches(object.metadata.labels) && fields.matches((path) => fieldOf(object, path));

/** Fields are selected by as the object itself says them, whatever the filters make of it. */
function fieldOf(object: KubeObject, path: string): string | undefined {
  let value: unknown = object;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return typeof value === 'string' ? value : undefined;
}
