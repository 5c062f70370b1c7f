import { createHash } from 'node:crypto';
import { type Exchange, mediaRanges } from '@tidegate/serving';
import { gnosticDocument } from '../openapi/gnostic.ts';
import { documentPath, type GroupVersion, openApiDocument, openApiIndex } from '../openapi/index.ts';
import { openApiV2 } from '../openapi/v2.ts';
import type { ResourceDefinition } from '../resources/types.ts';
import type { Registry, Served } from '../served/registry.ts';
import { KUBERNETES_VERSION } from '../served/version.ts';
import type { Documents } from './documents.ts';

/** Documents are built on request and cached until their content changes. */
export function addOpenApi(documents: Documents, registry: Registry, serverVersion: string): void {
  const kept = new KeptDocuments();
  const { major, minor } = KUBERNETES_VERSION;
  const hashOf = (version: GroupVersion): string => contentHash(registry, version, serverVersion);

  documents.set('/openapi/v2', ({ exchange }) => {
    const type = acceptedV2Type(exchange.request.headers.accept);
    // kube-apiserver sends an empty body here as well.
    if (type === undefined) return exchange.bytes(406, 'text/plain', []);
    const hash = sha256([type, ...groupVersions(registry).map(hashOf)].join());
    const make = (): Buffer => {
      const document = openApiV2(allServed(registry), `${major}.${minor}`);
      return type === 'application/json' ? Buffer.from(JSON.stringify(document)) : gnosticDocument(document);
    };
    return kept.send(exchange, { path: '/openapi/v2', type, hash, make });
  });

  documents.set('/openapi/v3', ({ exchange }) => {
    const versions = groupVersions(registry);
    const hashes = new Map(versions.map((v) => [documentPath(v), hashOf(v)]));
    return exchange.object(
      200,
      openApiIndex(versions, (path) => hashes.get(path) ?? ''),
    );
  });

  documents.set('/openapi/v3/', ({ path, query, exchange }) => {
    const wanted = path.slice('/openapi/v3/'.length);
    const version = groupVersions(registry).find((v) => documentPath(v) === wanted);
    if (version === undefined) return exchange.text(404, '404 page not found\n');
    const hash = hashOf(version);
    if (query.has('hash') && query.get('hash') !== hash) {
      exchange.response.setHeader('Location', `${path}?hash=${hash}`);
      return exchange.text(301, '');
    }
    // The hash is part of the URL, so a client that has the document never needs to request it again.
    if (query.has('hash'))
      exchange.response.setHeader('Cache-Control', 'public, immutable, max-age=31536000');
    const make = (): Buffer =>
      Buffer.from(JSON.stringify(openApiDocument(version, definitionsAt(registry, version), serverVersion)));
    return kept.send(exchange, { path, type: 'application/json', hash, make });
  });
}

interface MadeWhenAsked {
  path: string;
  type: string;
  /** Hash of everything that the document depends on. */
  hash: string;
  make(): Buffer;
}

/** A cache of the requested documents. */
class KeptDocuments {
  readonly #documents = new Map<string, { hash: string; bytes: Buffer }>();

  async send(exchange: Exchange, { path, type, hash, make }: MadeWhenAsked): Promise<void> {
    const etag = `"${hash}"`;
    exchange.response.setHeader('ETag', etag);
    if (exchange.request.headers['if-none-match'] === etag) {
      exchange.head(304, type);
      exchange.response.end();
      return;
    }
    const key = `${path} ${type}`;
    let document = this.#documents.get(key);
    if (document?.hash !== hash) {
      document = { hash, bytes: make() };
      this.#documents.set(key, document);
    }
    await exchange.bytes(200, type, [document.bytes]);
  }
}

const V2_PROTOBUF = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

const V2_TYPES = new Map([
  ['*/*', 'application/json'],
  ['application/*', 'application/json'],
  ['application/json', 'application/json'],
  [V2_PROTOBUF, V2_PROTOBUF],
  // Clients send this type, although it is not a valid media type.
  [V2_PROTOBUF.replace('.v1.0', '@v1.0'), V2_PROTOBUF],
]);

const acceptedV2Type = (accept: string | undefined): string | undefined =>
  mediaRanges(accept || '*/*')
    .map((range) => V2_TYPES.get(range.type))
    .find((type) => type !== undefined);

const groupVersions = (registry: Registry): GroupVersion[] =>
  [...registry.groups()].flatMap(([group, versions]) => versions.map((version) => ({ group, version })));

const definitionsAt = (registry: Registry, { group, version }: GroupVersion): ResourceDefinition[] =>
  registry.all().filter((d) => d.group === group && d.versions.some((v) => v.name === version));

const allServed = (registry: Registry): Served[] =>
  registry.all().flatMap((definition) => definition.versions.map((version) => ({ definition, version })));

/** Clients cache documents by hash across restarts of the server, so the hash depends only on the content. For built-in kinds, that is the server version. */
function contentHash(registry: Registry, at: GroupVersion, serverVersion: string): string {
  const content = definitionsAt(registry, at).map((definition) => {
    const { plural, kind, verbs, subresources, custom } = definition;
    const schema = custom ? definition.versions.find((v) => v.name === at.version)?.schema : undefined;
    return [plural, kind, verbs, Object.keys(subresources), schema];
  });
  return sha256(serverVersion + JSON.stringify([at, content]));
}

const sha256 = (content: string): string =>
  createHash('sha256').update(content).digest('hex').slice(0, 32).toUpperCase();
