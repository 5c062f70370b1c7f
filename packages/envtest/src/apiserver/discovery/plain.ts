import { createHash } from 'node:crypto';
import { apiVersionOf } from '@tidegate/kube';
import type { ResourceDefinition } from '../resources/types.ts';
import type { Registry } from '../served/registry.ts';

/** Unaggregated discovery: one document for all groups, and one for each group and version. */

export const apiVersions = (address: string): unknown => ({
  kind: 'APIVersions',
  versions: ['v1'],
  serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: address }],
});

export function apiGroupList(registry: Registry): unknown {
  const groups = [...registry.groups().keys()].filter((g) => g !== '').map((g) => groupBody(registry, g));
  return { kind: 'APIGroupList', apiVersion: 'v1', groups };
}

export function apiGroup(registry: Registry, group: string): unknown {
  if (!registry.groups().has(group)) return undefined;
  return { kind: 'APIGroup', apiVersion: 'v1', ...groupBody(registry, group) };
}

function groupBody(registry: Registry, group: string): object {
  const versions = (registry.groups().get(group) ?? []).map((version) => ({
    groupVersion: apiVersionOf(group, version),
    version,
  }));
  return { name: group, versions, preferredVersion: versions[0] };
}

export function apiResourceList(registry: Registry, group: string, version: string): unknown {
  const definitions = servedAt(registry, group, version);
  if (definitions.length === 0) return undefined;
  return {
    kind: 'APIResourceList',
    ...(group === '' ? {} : { apiVersion: 'v1' }),
    groupVersion: apiVersionOf(group, version),
    resources: definitions.flatMap((d) => resourceEntries(d)),
  };
}

/** The resources of a group and version, sorted by name. */
export const servedAt = (registry: Registry, group: string, version: string): ResourceDefinition[] =>
  registry
    .all()
    .filter((d) => d.group === group && d.versions.some((v) => v.name === version))
    .sort((a, b) => (a.plural < b.plural ? -1 : 1));

function resourceEntries(definition: ResourceDefinition): object[] {
  const main = {
    name: definition.plural,
    singularName: definition.singular,
    namespaced: definition.namespaced,
    kind: definition.kind,
    verbs: definition.verbs,
    ...(definition.shortNames.length > 0 && { shortNames: definition.shortNames }),
    ...(definition.categories.length > 0 && { categories: definition.categories }),
    ...(definition.review === undefined && { storageVersionHash: storageVersionHash(definition) }),
  };
  const subresources = subresourceNames(definition).map((name) => {
    const sub = definition.subresources[name];
    const foreign = sub?.group !== definition.group || sub.version !== definition.storageVersion;
    return {
      name: `${definition.plural}/${name}`,
      singularName: '',
      namespaced: definition.namespaced,
      ...(foreign && { group: sub?.group, version: sub?.version }),
      kind: sub?.kind,
      verbs: sub?.verbs,
    };
  });
  return [main, ...subresources];
}

/** A hash of group, version and kind of the storage version, with which clients detect a change of it. */
function storageVersionHash(definition: ResourceDefinition): string {
  const { group, storageGroup = group, storageVersion, kind } = definition;
  const digest = createHash('sha256').update(`${storageGroup}/${storageVersion}/${kind}`).digest();
  return digest.subarray(0, 8).toString('base64');
}

export const subresourceNames = (definition: ResourceDefinition): string[] =>
  Object.keys(definition.subresources).sort();
