import type { Logger } from '../base/log.ts';
import type { Status } from '../base/object.ts';
import { decodeObject, PROTOBUF, readableInProtobuf, type WireError } from '../protobuf/index.ts';
import { statusOf } from './errors.ts';
import { qualifiedName, type Resource } from './resource.ts';

export const isProtobuf = (contentType: string): boolean =>
  contentType.split(';')[0]!.trim().toLowerCase() === PROTOBUF;

/** The Status in the body of a failed request, in either encoding. */
export function statusIn(code: number, contentType: string, body: Buffer): Status {
  return statusOf(code, isProtobuf(contentType) ? protobufAsText(body) : body.toString('utf8'));
}

function protobufAsText(body: Buffer): string {
  try {
    return JSON.stringify(decodeObject(body));
  } catch (error) {
    return `the answer of the server cannot be read: ${error instanceof Error ? error.message : error}`;
  }
}

/**
 * Decides which resources to request in protobuf: those that this package can read, until an answer cannot be read,
 * for example because a newer server sends fields that are unknown here. The client always accepts JSON as well, for
 * servers that do not support protobuf.
 */
export class ProtobufNegotiation {
  readonly #enabled: boolean;
  readonly #log: Logger;
  readonly #givenUp = new Set<string>();

  constructor(enabled: boolean, log: Logger) {
    this.#enabled = enabled;
    this.#log = log;
  }

  /** The headers to add to a request. */
  headers(resource: Resource, verb: 'list' | 'watch'): { accept?: string } {
    const { group, version, resource: plural, metadataOnly = false } = resource;
    if (metadataOnly)
      return {
        accept: `application/json;as=PartialObjectMetadata${verb === 'list' ? 'List' : ''};g=meta.k8s.io;v=v1`,
      };
    if (!this.#enabled || !readableInProtobuf(group, version, plural)) return {};
    if (this.#givenUp.has(nameOf(resource))) return {};
    return { accept: `${PROTOBUF}${verb === 'watch' ? ';stream=watch' : ''}, application/json` };
  }

  giveUp(resource: Resource, error: WireError): void {
    const name = nameOf(resource);
    if (this.#givenUp.has(name)) return;
    this.#givenUp.add(name);
    this.#log.warn(
      { err: error, resource: name },
      'the protobuf of the API server cannot be read; requesting JSON from now on',
    );
  }
}

const nameOf = (resource: Resource): string => `${qualifiedName(resource)}/${resource.version}`;
