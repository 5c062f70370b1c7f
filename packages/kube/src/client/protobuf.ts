import type { Logger } from '../base/log.ts';
import type { Status } from '../base/object.ts';
import { decodeObject, PROTOBUF, readableInProtobuf, type WireError } from '../protobuf/index.ts';
import { statusOf } from './errors.ts';
import { qualifiedName, type Resource } from './resource.ts';

export const isProtobuf = (contentType: string): boolean =>
  contentType.split(';')[0]!.trim().toLowerCase() === PROTOBUF;

/** The Status that a failure has for a body, in either encoding. */
export function statusIn(code: number, contentType: string, body: Buffer): Status {
  return statusOf(code, isProtobuf(contentType) ? protobufAsText(body) : body.toString('utf8'));
}

function protobufAsText(body: Buffer): string {
  try {
    return JSON.stringify(decodeObject(body));
  } catch (error) {
    return `the server's answer can not be read: ${error instanceof Error ? error.message : error}`;
  }
}

/**
 * Which resources a client asks for in protobuf: those that are readable, until an answer was not, be it that the
 * server is newer and says more than is known here. JSON is always welcome, for servers that know nothing else.
 */
export class ProtobufWishes {
  readonly #enabled: boolean;
  readonly #log: Logger;
  readonly #givenUp = new Set<string>();

  constructor(enabled: boolean, log: Logger) {
    this.#enabled = enabled;
    this.#log = log;
  }

  /** What to add to a request. */
  headers(resource: Resource, verb: 'list' | 'watch'): { accept?: string } {
    const { group, version, resource: plural } = resource;
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
      'the protobuf of the API server is not understood; asking for JSON from now on',
    );
  }
}

const nameOf = (resource: Resource): string => `${qualifiedName(resource)}/${resource.version}`;
