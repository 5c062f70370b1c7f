import { ApiError } from '../../kube/serving/api-error.ts';
import { type FieldError, fieldErrorMessage } from './field-error.ts';

export * from '../../kube/serving/api-error.ts';

/** 422 with one cause a field. `kind` is the Kind, not the resource: `Ingress.networking.k8s.io "x" is invalid: ...`. */
export function invalid(kind: { group: string; kind: string }, name: string, errors: FieldError[]): ApiError {
  const qualifiedKind = kind.group === '' ? kind.kind : `${kind.kind}.${kind.group}`;
  const messages = [...new Set(errors.map(fieldErrorMessage))];
  const text = messages.length === 1 ? messages[0] : `[${messages.join(', ')}]`;
  return new ApiError(422, 'Invalid', `${qualifiedKind} ${JSON.stringify(name)} is invalid: ${text}`, {
    ...(name === '' ? {} : { name }),
    ...(kind.group === '' ? {} : { group: kind.group }),
    ...(kind.kind === '' ? {} : { kind: kind.kind }),
    causes: errors.map((e) => ({ reason: e.reason, message: e.body, field: e.field })),
  });
}
