import type { KubeObject } from '@tidegate/kube';
import { decodeObject, PROTOBUF } from '@tidegate/kube/protobuf';
import { badRequest } from '@tidegate/serving';
import { parse as parseYaml } from 'yaml';

/** Decodes the body of a write: JSON, YAML or protobuf, by its Content-Type. */
export function decodeBody(contentType: string, body: Buffer): KubeObject {
  const type = (contentType.split(';')[0] ?? '').trim().toLowerCase();
  try {
    if (type === PROTOBUF) return decodeObject(body);
    const text = body.toString('utf8');
    return type === 'application/yaml' ? (parseYaml(text) as KubeObject) : (JSON.parse(text) as KubeObject);
  } catch (error) {
    throw badRequest(
      `cannot decode the request body as ${type || 'JSON'}: ${error instanceof Error ? error.message : error}`,
    );
  }
}
