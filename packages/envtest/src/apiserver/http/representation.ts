/** The form and format of a response: what the client accepts and the server can write. */
import { ownField } from '@tidegate/kube';
import {
  type Allows,
  type Format,
  negotiateAmong,
  type Representation,
  type ResourceRequest,
} from '@tidegate/serving';
import { isEncodable } from '../protobuf/index.ts';
import { type Served, servedApiVersion } from '../served/registry.ts';

/** A representation of an object, a list or a watch. */
export type Shown = Representation<Format>;

const FORMATS = ['json', 'yaml', 'protobuf'] as const;

/** Throws a 406 error if the client accepts nothing that the server can send. */
export function representationOf(accept: string | undefined, served: Served, info: ResourceRequest): Shown {
  const allows: Allows = (format, as) => {
    // A stream of YAML documents has no framing.
    if (format === 'yaml' && info.verb === 'watch') return false;
    if (as === 'Table') return format !== 'protobuf' && served.definition.review === undefined;
    if (as !== undefined) return as !== 'APIGroupDiscoveryList';
    return format !== 'protobuf' || hasProtobuf(served, info.subresource);
  };
  return negotiateAmong(accept, FORMATS, allows);
}

/** The format of errors. A client that accepts nothing that the server can send gets JSON. */
export function errorFormat(accept: string | undefined): Format {
  try {
    return negotiateAmong(accept, FORMATS).format;
  } catch {
    return 'json';
  }
}

function hasProtobuf(served: Served, subresource: string): boolean {
  const { definition } = served;
  const own = { apiVersion: servedApiVersion(served), kind: definition.kind };
  const sub = ownField(definition.subresources, subresource);
  if (sub === undefined || sub.kind === definition.kind) return isEncodable(own);
  return isEncodable({
    apiVersion: sub.group === '' ? sub.version : `${sub.group}/${sub.version}`,
    kind: sub.kind,
  });
}
