/** Whether an object is of the kind that the path of the request names. */
import { apiVersionOf, type KubeObject, parseApiVersion } from '@tidegate/kube';
import { type ApiError, badRequest, fieldError, invalid } from '@tidegate/serving';
import { hasBuiltinSchema } from '../schema/builtin.ts';
import { type Served, servedApiVersion } from '../served/registry.ts';

/** An object may leave out what the path says already. */
export const withKind = (served: Served, object: Record<string, unknown>): KubeObject =>
  ({
    ...object,
    apiVersion: object.apiVersion || servedApiVersion(served),
    kind: object.kind || served.definition.kind,
  }) as KubeObject;

/** But it must not contradict it. */
export const isOtherKind = (served: Served, { apiVersion, kind }: KubeObject): boolean =>
  apiVersion !== servedApiVersion(served) || kind !== served.definition.kind;

/** The answer to a body of another kind. */
export function otherKind(served: Served, object: KubeObject): ApiError {
  const { apiVersion, kind } = object;
  const { definition } = served;
  if (definition.custom) {
    const expected = servedApiVersion(served);
    const what =
      apiVersion === expected ? ['kind', kind, definition.kind] : ['API version', apiVersion, expected];
    return badRequest(
      `the ${what[0]} in the data (${what[1]}) does not match the expected ${what[0]} (${what[2]})`,
    );
  }
  const { version } = parseApiVersion(apiVersion);
  return badRequest(
    `${kind} in version "${version}" cannot be handled as a ${definition.kind}: ${cannotConvert(served, object)}`,
  );
}

/** Why an object of another kind can not be read as a built-in one. */
export function cannotConvert({ definition }: Served, { apiVersion, kind }: KubeObject): string {
  const { version } = parseApiVersion(apiVersion);
  return hasBuiltinSchema(apiVersion, kind)
    ? `converting (${version}.${kind}) to (${internalPackage(definition.group)}.${definition.kind}): unknown conversion`
    : `no kind "${kind}" is registered for version "${apiVersion}" in scheme "pkg/api/legacyscheme/scheme.go:30"`;
}

/** The answer to a patch that makes a custom resource another kind. */
export function kindChanged(served: Served, { apiVersion, kind, metadata }: KubeObject): ApiError {
  const { definition, version } = served;
  const expected = apiVersionOf(definition.group, version.name);
  return invalid({ group: parseApiVersion(apiVersion).group, kind }, metadata?.name ?? '', [
    ...(apiVersion === expected ? [] : [fieldError.invalid('apiVersion', apiVersion, `must be ${expected}`)]),
    ...(kind === definition.kind ? [] : [fieldError.invalid('kind', kind, `must be ${definition.kind}`)]),
  ]);
}

/** How the real server calls the group in its own code: `core`, `apps`, `networking`. */
const internalPackage = (group: string): string => group.split('.', 1)[0] || 'core';
