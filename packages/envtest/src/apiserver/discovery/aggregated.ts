import type { ResourceDefinition } from '../resources/types.ts';
import type { Registry } from '../served/registry.ts';
import { servedAt, subresourceNames } from './plain.ts';

/** Aggregated discovery: one document, which kubectl and client-go request first. `core` selects the legacy `/api` part. */
export function groupDiscoveryList(registry: Registry, core: boolean, version: string): unknown {
  const groups = [...registry.groups()].filter(([group]) => (group === '') === core);
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: `apidiscovery.k8s.io/${version}`,
    metadata: {},
    items: groups.map(([group, versions]) => ({
      metadata: { ...(group !== '' && { name: group }), creationTimestamp: null },
      versions: versions.map((v) => ({
        version: v,
        resources: servedAt(registry, group, v).map((definition) => resource(definition, v)),
        freshness: 'Current',
      })),
    })),
  };
}

function resource(definition: ResourceDefinition, version: string): object {
  const subresources = subresourceNames(definition).map((name) => {
    const sub = definition.subresources[name];
    const own = sub?.group === definition.group && sub.kind === definition.kind;
    return {
      subresource: name,
      responseKind: { group: sub?.group, version: own ? version : sub?.version, kind: sub?.kind },
      verbs: sub?.verbs,
    };
  });
  return {
    resource: definition.plural,
    responseKind: { group: definition.group, version, kind: definition.kind },
    scope: definition.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: definition.singular,
    verbs: definition.verbs,
    ...(definition.shortNames.length > 0 && { shortNames: definition.shortNames }),
    ...(definition.categories.length > 0 && { categories: definition.categories }),
    ...(subresources.length > 0 && { subresources }),
  };
}
