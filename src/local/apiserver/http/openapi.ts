import { createHash } from 'node:crypto';
import { documentPath, type GroupVersion, openApiDocument, openApiIndex } from '../openapi/index.ts';
import type { Registry } from '../registry.ts';
import type { ResourceDefinition } from '../resources/types.ts';
import type { Documents } from './documents.ts';

/** Documents are made when somebody asks, and kept until what they describe changes. */
export function addOpenApi(documents: Documents, registry: Registry, serverVersion: string): void {
  const made = new Map<string, { hash: string; bytes: Buffer }>();

  documents.set('/openapi/v3', ({ exchange }) => {
    const versions = groupVersions(registry);
    const hashes = new Map(versions.map((v) => [documentPath(v), hashOf(registry, v, serverVersion)]));
    return exchange.object(
      200,
      openApiIndex(versions, (path) => hashes.get(path) ?? ''),
    );
  });

  documents.set('/openapi/v3/', ({ path, exchange }) => {
    const wanted = path.slice('/openapi/v3/'.length);
    const version = groupVersions(registry).find((v) => documentPath(v) === wanted);
    if (version === undefined) return exchange.text(404, '404 page not found\n');
    const hash = hashOf(registry, version, serverVersion);
    let document = made.get(wanted);
    if (document?.hash !== hash) {
      const definitions = definitionsAt(registry, version);
      document = {
        hash,
        bytes: Buffer.from(JSON.stringify(openApiDocument(version, definitions, serverVersion))),
      };
      made.set(wanted, document);
    }
    return exchange.bytes(200, 'application/json', [document.bytes]);
  });
}

const groupVersions = (registry: Registry): GroupVersion[] =>
  [...registry.groups()].flatMap(([group, versions]) => versions.map((version) => ({ group, version })));

const definitionsAt = (registry: Registry, { group, version }: GroupVersion): ResourceDefinition[] =>
  registry.all().filter((d) => d.group === group && d.versions.some((v) => v.name === version));

/** Clients keep documents by their hash over restarts, so it must follow from the content: for built-ins, from the version. */
function hashOf(registry: Registry, at: GroupVersion, serverVersion: string): string {
  const hash = createHash('sha256').update(serverVersion);
  for (const definition of definitionsAt(registry, at)) {
    const { plural, kind, verbs, subresources, custom } = definition;
    const schema = custom ? definition.versions.find((v) => v.name === at.version)?.schema : undefined;
    hash.update(JSON.stringify([plural, kind, verbs, Object.keys(subresources), schema]));
  }
  return hash.digest('hex').slice(0, 32).toUpperCase();
}
