/**
 * Reads protobuf bodies. kubectl and client-go write built-in kinds in protobuf by default and do not fall back to JSON, so
 * the server must read it. No client insists on protobuf in the answer, so answers are always JSON.
 *
 *   k8s\0 + runtime.Unknown{ typeMeta{apiVersion, kind}, raw } -> the object, as if it had come as JSON
 *
 * `message` walks the wire format along the schema of the kind; `field-numbers` adds the numbers that schemas lack.
 */
import type { KubeObject } from '@tidegate/kube';
import { hasProtobufPrefix, openEnvelope, WireError } from '@tidegate/kube/protobuf';
import { badRequest, unsupportedMediaType } from '@tidegate/serving';
import { builtinSchema } from '../schema/builtin.ts';
import type { Schema } from '../schema/types.ts';
import { decodeFields } from './message.ts';

export function decodeProtobuf(body: Buffer): KubeObject {
  if (!hasProtobufPrefix(body)) {
    throw badRequest(
      'provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]',
    );
  }
  try {
    const { apiVersion, kind, reader } = openEnvelope(body);
    return { ...decodeFields(reader, schemaOf(apiVersion, kind)), apiVersion, kind } as KubeObject;
  } catch (error) {
    if (error instanceof WireError) throw badRequest(`the protobuf body cannot be read: ${error.message}`);
    throw error;
  }
}

function schemaOf(apiVersion: string, kind: string): Schema {
  try {
    return builtinSchema(kind === 'DeleteOptions' ? 'meta/v1' : apiVersion, kind);
  } catch {
    throw unsupportedMediaType(
      `${kind || 'the object'} in ${apiVersion || 'an unknown version'} is not supported in protobuf; send it as application/json`,
    );
  }
}
