/**
 * JSON patches as kube-apiserver takes them. A malformed patch is a 400 that names the error. A patch that does not apply
 * is always the same 422; the reason, in the words of the library inside kube-apiserver, is its cause: the server includes
 * it in the answer when the patch came from a webhook, and keeps it from clients.
 */
import { isJsonMap, MAX_JSON_BYTES } from '@tidegate/kube';
import { applyJsonPatch as apply, JsonPatchError, type JsonPatchOperation } from '@tidegate/kube/patch';
import { ApiError, badRequest } from '@tidegate/serving';
import { goJsonKind } from './go-format.ts';

const MAX_OPERATIONS = 10_000;

export function applyJsonPatch<T extends object>(target: T, patch: unknown): T {
  const operations = decodeOperations(patch);
  try {
    return apply(target, operations, 'kubernetes');
  } catch (error) {
    if (!(error instanceof JsonPatchError)) throw error;
    const cause = new Error(goMessage(operations[error.index] ?? {}, error), { cause: error });
    throw new ApiError(
      422,
      'Invalid',
      'the server rejected our request due to an error in our request',
      {},
      cause,
    );
  }
}

function decodeOperations(patch: unknown): JsonPatchOperation[] {
  // Go decodes null into an empty list.
  if (patch === null) return [];
  const wrongType = (value: unknown, where: string): ApiError =>
    badRequest(`error decoding patch: json: cannot unmarshal ${goJsonKind(value)} into Go ${where}`);
  if (!Array.isArray(patch)) throw wrongType(patch, 'value of type []handlers.jsonPatchOp');
  if (patch.length > MAX_OPERATIONS) {
    throw new ApiError(
      413,
      'RequestEntityTooLarge',
      `Request entity too large: The allowed maximum operations in a JSON patch is ${MAX_OPERATIONS}, got ${patch.length}`,
    );
  }
  return patch.map((operation: unknown) => {
    if (operation === null) return {};
    if (!isJsonMap(operation)) throw wrongType(operation, 'value of type handlers.jsonPatchOp');
    for (const field of ['op', 'path', 'from']) {
      const value = operation[field] ?? '';
      if (typeof value !== 'string')
        throw wrongType(value, `struct field jsonPatchOp.${field} of type string`);
    }
    return operation;
  });
}

function goMessage({ op }: JsonPatchOperation, error: JsonPatchError): string {
  const { pointer } = error;
  switch (error.problem) {
    case 'unknown operation':
      return `Unexpected kind: ${String(op)}`;
    case 'copies too large':
      return `Unable to complete the copy, the accumulated size increase of copy is more than ${MAX_JSON_BYTES}, exceeding the limit ${MAX_JSON_BYTES}`;
    case 'whole document':
      return 'the document itself can only be tested or replaced';
    case 'test failed':
      return `testing value ${pointer} failed: test failed`;
    case 'no parent':
      return `${op} operation does not apply: ${missingParent(op, error)}: missing value`;
    case 'not found':
      return op === 'replace'
        ? `replace operation does not apply: doc is missing key: ${pointer}: missing value`
        : `${where(op, error)}: Unable to remove nonexistent key: ${error.step}: missing value`;
    case 'not an index':
    case 'index out of range':
      return `${where(op, error)}: ${wrongIndex(op, error)}`;
    default:
      return error.message;
  }
}

function missingParent(op: unknown, { pointer, side }: JsonPatchError): string {
  if (op === 'add' || op === 'remove') return `doc is missing path: "${pointer}"`;
  if (op === 'replace') return `doc is missing path: ${pointer}`;
  if (op === 'test') return `is missing path: ${pointer}`;
  return `doc is missing ${side === 'from' ? 'from' : 'destination'} path: ${pointer}`;
}

function where(op: unknown, { pointer, side }: JsonPatchError): string {
  if (op !== 'copy') return `error in ${op} for path: '${pointer}'`;
  return side === 'from' ? `error in copy for from: '${pointer}'` : 'error while adding value during copy';
}

function wrongIndex(op: unknown, { problem, side, step = '' }: JsonPatchError): string {
  if (problem === 'index out of range')
    return `Unable to access invalid index: ${Number(step)}: invalid index referenced`;
  const adds = op === 'add' || ((op === 'move' || op === 'copy') && side === 'path');
  const syntax = `strconv.Atoi: parsing ${JSON.stringify(step)}: invalid syntax`;
  return adds ? `value was not a proper array index: '${step}': ${syntax}` : syntax;
}
