import { builtinSchema, hasBuiltinSchema } from '../schema/builtin.ts';
import { type MessageType, messageTypeNamed, messageTypeOf } from './types.ts';

const OBJECT_META = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';

/** Kinds that every group has. */
const GENERIC = new Set(['DeleteOptions', 'Status']);

let partial: MessageType | undefined;

/** The metadata of any object, including custom resources. */
function partialMetadata(): MessageType {
  const field = {
    number: 1,
    name: 'metadata',
    shape: 'one',
    type: () => messageTypeNamed(OBJECT_META),
  } as const;
  partial ??= { byNumber: [undefined, field], descending: [field] };
  return partial;
}

/** Undefined for kinds without field numbers, for example custom resources. */
export function kindType(apiVersion: string, kind: string): MessageType | undefined {
  if (kind === 'PartialObjectMetadata') return partialMetadata();
  const at = GENERIC.has(kind) ? 'meta/v1' : apiVersion;
  return hasBuiltinSchema(at, kind) ? messageTypeOf(builtinSchema(at, kind)) : undefined;
}
