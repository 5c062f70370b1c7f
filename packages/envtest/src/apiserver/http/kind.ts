/** Checks that an object has the kind that the path of the request names. */
import { apiVersionOf, type KubeObject, parseApiVersion } from '@tidegate/kube';
import { type ApiError, badRequest, fieldError, invalid } from '@tidegate/serving';
import { hasBuiltinSchema } from '../schema/builtin.ts';
import { type Served, servedApiVersion } from '../served/registry.ts';

/** An object may omit its apiVersion and kind, because the path determines them ... */
export const withKind = (served: Served, object: Record<string, unknown>): KubeObject =>
  ({
    ...object,
    apiVersion: object.apiVersion || servedApiVersion(served),
    kind: object.kind || served.definition.kind,
  }) as KubeObject;

/** ... but it must not contradict the path. */
export const isOtherKind = (served: Served, { apiVersion, kind }: KubeObject): boolean =>
  apiVersion !== servedApiVersion(served) || kind !== served.definition.kind;

/** The error for a body of another kind. */
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

/** The reason why an object of another kind cannot be decoded as a built-in kind. */
export function cannotConvert({ definition }: Served, { apiVersion, kind }: KubeObject): string {
  const { version } = parseApiVersion(apiVersion);
  return hasBuiltinSchema(apiVersion, kind)
    ? `converting (${version}.${kind}) to (${internalPackage(definition.group)}.${definition.kind}): unknown conversion`
    : `no kind "${kind}" is registered for version "${apiVersion}" in scheme "pkg/api/legacyscheme/scheme.go:30"`;
}

/** The error for a patch that changes the kind of a custom resource. */
export function kindChanged(served: Served, { apiVersion, kind, metadata }: KubeObject): ApiError {
  const { definition, version } = served;
  const expected = apiVersionOf(definition.group, version.name);
  return invalid({ group: parseApiVersion(apiVersion).group, kind }, metadata?.name ?? '', [
    ...(apiVersion === expected ? [] : [fieldError.invalid('apiVersion', apiVersion, `must be ${expected}`)]),
    ...(kind === definition.kind ? [] : [fieldError.invalid('kind', kind, `must be ${definition.kind}`)]),
  ]);
}

/** The name of the group in the Go packages of kube-apiserver: `core`, `apps`, `networking`. */
const internalPackage = (group: string): string => group.split('.', 1)[0] || 'core';
