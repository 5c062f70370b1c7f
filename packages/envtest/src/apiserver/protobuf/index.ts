/**
 * Reading protobuf bodies. kubectl and client-go write built-in kinds in protobuf by default and do not fall back, so the
 * server must read it; nobody insists on getting it back, so answers are always JSON.
 *
 *   k8s\0 + runtime.Unknown{ typeMeta{apiVersion, kind}, raw } -> the object, as if it had come as JSON
 */
import type { KubeObject } from '@tidegate/kube';
import { badRequest, unsupportedMediaType } from '@tidegate/serving';
import { builtinSchema } from '../schema/builtin.ts';
import type { Schema } from '../schema/types.ts';
import { decodeMessage } from './message.ts';
import { readFields, WireError } from './wire.ts';

const MAGIC = Buffer.from('k8s\0', 'latin1');

export function decodeProtobuf(body: Buffer): KubeObject {
  if (!body.subarray(0, MAGIC.length).equals(MAGIC)) {
    throw badRequest(
      'provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]',
    );
  }
  try {
    return decodeUnknown(body.subarray(MAGIC.length));
  } catch (error) {
    if (error instanceof WireError) throw badRequest(`the protobuf body can not be read: ${error.message}`);
    throw error;
  }
}

function decodeUnknown(bytes: Buffer): KubeObject {
  let apiVersion = '';
  let kind = '';
  let raw = Buffer.alloc(0);
  for (const field of readFields(bytes)) {
    if (field.number === 1) {
      for (const part of readFields(field.bytes)) {
        if (part.number === 1) apiVersion = part.bytes.toString('utf8');
        else kind = part.bytes.toString('utf8');
      }
    } else if (field.number === 2) raw = field.bytes as Buffer<ArrayBuffer>;
  }
  return { ...decodeMessage(raw, schemaOf(apiVersion, kind)), apiVersion, kind } as KubeObject;
}

function schemaOf(apiVersion: string, kind: string): Schema {
  try {
    return builtinSchema(kind === 'DeleteOptions' ? 'meta/v1' : apiVersion, kind);
  } catch {
    throw unsupportedMediaType(
      `${kind || 'the object'} of ${apiVersion || 'unknown version'} is not read in protobuf here; send it as application/json`,
    );
  }
}
