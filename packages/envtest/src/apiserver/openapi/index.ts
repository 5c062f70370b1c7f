/**
 * `/openapi/v3`, which kubectl uses to explain kinds, to validate, and to merge on the client.
 *
 * The index lists a document for each group and version with a hash, so that clients can cache them. A document is built
 * from the resource definitions: schemas.ts writes the types, and paths.ts writes the operations, in which kubectl looks
 * up the kinds and the supported parameters. v2.ts builds the older document for the whole API from the same parts, and
 * gnostic.ts encodes it as protobuf.
 */
import type { ResourceDefinition } from '../resources/types.ts';
import { pathsOf } from './paths.ts';
import { SchemaWriter } from './schemas.ts';

export interface GroupVersion {
  group: string;
  version: string;
}

/** The path below `/openapi/v3/`: `api/v1`, `apis/apps/v1`. */
export const documentPath = ({ group, version }: GroupVersion): string =>
  group === '' ? `api/${version}` : `apis/${group}/${version}`;

export function openApiIndex(groupVersions: GroupVersion[], hashOf: (path: string) => string): object {
  const paths = groupVersions.map(documentPath).map((path) => {
    return [path, { serverRelativeURL: `/openapi/v3/${path}?hash=${hashOf(path)}` }] as const;
  });
  return { paths: Object.fromEntries(paths) };
}

/** The document for a version of a group. Definitions of other groups and versions are left out. */
export function openApiDocument(
  { group, version }: GroupVersion,
  definitions: ResourceDefinition[],
  serverVersion: string,
): object {
  const writer = new SchemaWriter();
  const served = definitions.flatMap((definition) => {
    const at = definition.versions.find((v) => v.name === version);
    return definition.group === group && at !== undefined ? [{ definition, version: at }] : [];
  });
  const paths = Object.assign({}, ...served.map((resource) => pathsOf(resource, writer)));
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: serverVersion },
    paths: sortKeys(paths),
    components: { schemas: sortKeys(writer.schemas) },
  };
}

export const sortKeys = (object: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));
