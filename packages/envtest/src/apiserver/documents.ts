/** The documents that are not resources: discovery, OpenAPI, health, version, metrics, keys. */
import type { Metrics } from '@tidegate/kube';
import { JWKS_PATH, OPENID_CONFIGURATION_PATH, openIdDocuments } from './auth/openid.ts';
import type { ServiceAccountKey } from './auth/service-account-key.ts';
import { addDiscovery, addHealth, Documents, type HealthCheck } from './http/documents.ts';
import { addOpenApi } from './http/openapi.ts';
import type { Core } from './operations/core.ts';
import { versionInfo } from './served/version.ts';
import type { Store } from './store/index.ts';

export interface DocumentsOptions {
  core: Core;
  metrics: Metrics;
  key: ServiceAccountKey;
  issuer: string;
  version: string;
  url(): string;
}

export function documentsOf(options: DocumentsOptions): Documents {
  const { core, metrics, url } = options;
  const documents = new Documents();
  addDiscovery(documents, core.registry, () => new URL(url()).host);
  addOpenApi(documents, core.registry, versionInfo(options.version).gitVersion ?? '');
  addHealth(
    documents,
    new Map<string, HealthCheck>([
      ['ping', { failure: () => undefined }],
      ['store-writes', { failure: () => writeFailure(core.store), readinessOnly: true }],
    ]),
  );
  documents.set('/version', ({ exchange }) =>
    exchange.bytes(200, 'application/json', [
      Buffer.from(JSON.stringify(versionInfo(options.version), null, 2)),
    ]),
  );
  documents.set('/metrics', async ({ exchange }) =>
    exchange.bytes(200, metrics.contentType, [Buffer.from(await metrics.scrape())]),
  );
  documents.set(OPENID_CONFIGURATION_PATH, ({ exchange }) =>
    exchange.object(200, openIdDocuments(options.key, options.issuer, url()).configuration),
  );
  documents.set(JWKS_PATH, ({ exchange }) => {
    const keys = JSON.stringify(openIdDocuments(options.key, options.issuer, url()).jwks);
    return exchange.bytes(200, 'application/jwk-set+json', [Buffer.from(keys)]);
  });
  documents.set('/', ({ exchange }) => exchange.object(200, { paths: allPaths(core, documents) }));
  return documents;
}

/** Without the path of the data directory: health is public. Refused writes and the log name it. */
function writeFailure({ trouble }: Store): string | undefined {
  if (trouble === undefined) return undefined;
  const why =
    trouble.code === 'full' ? 'no space left on the disk of the store' : 'the disk of the store fails';
  return `${why}; writes are refused, reads work`;
}

function allPaths(core: Core, documents: Documents): string[] {
  const groups = [...core.registry.groups()].flatMap(([group, versions]) => {
    const root = group === '' ? '/api' : `/apis/${group}`;
    return [root, ...versions.map((version) => `${root}/${version}`)];
  });
  return [...new Set([...groups, ...documents.paths()])].sort();
}
