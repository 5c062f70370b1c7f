/** Reads request bodies. */
import type { KubeObject } from '@tidegate/kube';
import { hasProtobufPrefix, openEnvelope, WireError } from '@tidegate/kube/protobuf';
import { badRequest, unsupportedMediaType } from '@tidegate/serving';
import { decodeMessage } from './decode.ts';
import { kindType } from './kinds.ts';

export function decodeProtobuf(body: Buffer): KubeObject {
  if (!hasProtobufPrefix(body)) {
    throw badRequest(
      'provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]',
    );
  }
  try {
    const { apiVersion, kind, reader } = openEnvelope(body);
    const type = kindType(apiVersion, kind);
    if (type === undefined) {
      throw unsupportedMediaType(
        `${kind || 'the object'} in ${apiVersion || 'an unknown version'} is not supported in protobuf; send it as application/json`,
      );
    }
    return { kind, apiVersion, ...decodeMessage(reader, type) } as KubeObject;
  } catch (error) {
    if (error instanceof WireError) throw badRequest(`the protobuf body cannot be read: ${error.message}`);
    throw error;
  }
}
