/** AdmissionReview: the request to a webhook and its response. */
import { isJsonMap, type KubeObject, type Status } from '@tidegate/kube';
import { ApiError } from '@tidegate/serving';
import type { AdmissionAttributes } from '../../operations/core.ts';
import { JsonSyntaxError, parseJson } from '../../schema/json.ts';
import { readableOne } from '../../served/codec.ts';
import type { Served } from '../../served/registry.ts';

const VERSIONS = ['v1', 'v1beta1'] as const;
export type ReviewVersion = (typeof VERSIONS)[number];

/** The decision of a webhook. `patch` has the operations of a JSON patch and is only set by mutating webhooks. */
export interface AdmissionResponse {
  allowed: boolean;
  status?: Partial<Status>;
  patch?: unknown[];
  warnings: string[];
}

/** The first version that both the webhook and this server support. */
export const reviewVersion = (offered: string[] | undefined): ReviewVersion | undefined =>
  offered?.find((version): version is ReviewVersion => VERSIONS.some((known) => known === version));

/** The objects of a request in the version in which a webhook receives them. */
export interface Forms {
  object: KubeObject | null;
  oldObject: KubeObject | null;
}

export async function formsOf({ object, oldObject }: AdmissionAttributes, target: Served): Promise<Forms> {
  const at = async (one: KubeObject | undefined): Promise<KubeObject | null> =>
    one === undefined ? null : readableOne(target, one);
  return { object: await at(object), oldObject: await at(oldObject) };
}

/**
 * The AdmissionReview for a webhook. `target` is the version that the webhook receives; `kind` and `resource` name
 * it, while `requestKind` and `requestResource` name what the client sent.
 */
export function reviewRequest(
  uid: string,
  version: ReviewVersion,
  attributes: AdmissionAttributes,
  target: Served,
  { object, oldObject }: Forms,
): object {
  const { served, subresource, name, operation, user, dryRun } = attributes;
  const sub = (key: string): object => (subresource === '' ? {} : { [key]: subresource });
  const namespace = namespaceOf(attributes);
  return {
    kind: 'AdmissionReview',
    apiVersion: `admission.k8s.io/${version}`,
    request: {
      uid,
      kind: kindOf(target),
      resource: resourceOf(target),
      ...sub('subResource'),
      requestKind: kindOf(served),
      requestResource: resourceOf(served),
      ...sub('requestSubResource'),
      ...(name === '' ? {} : { name }),
      ...(namespace === '' ? {} : { namespace }),
      operation,
      userInfo: user,
      object,
      oldObject,
      dryRun,
      options: attributes.options,
    },
  };
}

/** A Namespace object is in its own namespace. */
export const namespaceOf = ({ served, namespace, name }: AdmissionAttributes): string =>
  served.definition.storage === 'namespaces' ? name : namespace;

const kindOf = ({ definition, version }: Served): object => ({
  group: definition.group,
  version: version.name,
  kind: definition.kind,
});

const resourceOf = ({ definition, version }: Served): object => ({
  group: definition.group,
  version: version.name,
  resource: definition.plural,
});

interface RawResponse {
  uid?: string;
  allowed?: boolean;
  status?: Partial<Status>;
  patch?: string;
  patchType?: string | null;
  warnings?: string[];
}

/** The response of a webhook is invalid. The message says why. */
export class ResponseError extends Error {}

const unreadable = (why: string): ResponseError => new ResponseError(`failed to call webhook: ${why}`);
const invalid = (why: string): ResponseError =>
  new ResponseError(`received invalid webhook response: ${why}`);

interface Expected {
  uid: string;
  version: ReviewVersion;
  mutating: boolean;
}

/**
 * Parses and checks the response. Throws a ResponseError, which counts as a failed call: the failurePolicy decides.
 */
export function readResponse(text: string, expected: Expected): AdmissionResponse {
  const review = parseReview(text, expected.version);
  const { response } = review;
  if (response === undefined || response === null) throw invalid('webhook response was absent');
  // These checks do not exist for v1beta1.
  if (expected.version === 'v1') checkV1(review, response, expected);
  return {
    allowed: response.allowed === true,
    status: response.status,
    patch: expected.mutating ? readPatch(response) : undefined,
    warnings: response.warnings ?? [],
  };
}

interface Review {
  kind?: string;
  apiVersion?: string;
  response?: RawResponse | null;
}

function parseReview(text: string, version: ReviewVersion): Review {
  if (text === '')
    throw unreadable('0-length response with status code: 200 and content type: application/json');
  const review = parseObject(text);
  const { apiVersion, kind } = review;
  if (!apiVersion && !kind) return review;
  const known = VERSIONS.find(
    (one) => apiVersion === `admission.k8s.io/${one}` && kind === 'AdmissionReview',
  );
  if (known === undefined) {
    throw unreadable(
      `no kind ${JSON.stringify(kind ?? '')} is registered for version ${JSON.stringify(apiVersion ?? '')} in scheme "pkg/util/webhook/client.go:71"`,
    );
  }
  if (known !== version) {
    throw unreadable(
      `converting (${known}.AdmissionReview) to (${version}.AdmissionReview): unknown conversion`,
    );
  }
  return review;
}

function parseObject(text: string): Review {
  let value: unknown;
  try {
    value = /^\s*[[{]/.test(text) ? parseJson(text) : text;
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw unreadable(`couldn't get version/kind; json parse error: ${error.message}`);
  }
  if (isJsonMap(value)) return value;
  const type = Array.isArray(value) ? 'array' : 'string';
  throw unreadable(
    `couldn't get version/kind; json parse error: json: cannot unmarshal ${type} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`,
  );
}

/** In v1, the response must repeat the uid of the request and must declare the type of its patch. */
function checkV1(review: Review, response: RawResponse, expected: Expected): void {
  const { uid = '', patch, patchType } = response;
  if (uid !== expected.uid) {
    throw invalid(`expected response.uid=${JSON.stringify(expected.uid)}, got ${JSON.stringify(uid)}`);
  }
  if (!review.apiVersion) {
    throw invalid('expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=');
  }
  const typed = patchType !== undefined && patchType !== null;
  if (!expected.mutating) {
    if (patch) throw invalid('validating webhook may not return response.patch');
    if (typed) throw invalid('validating webhook may not return response.patchType');
    return;
  }
  if (patch && !typed) throw invalid('webhook returned response.patch but not response.patchType');
  if (!patch && typed) throw invalid('webhook returned response.patchType but not response.patch');
  if (patchType === '') throw invalid('webhook returned invalid response.patchType of ""');
}

/** The patch operations; undefined if there are none. */
function readPatch({ patch, patchType }: RawResponse): unknown[] | undefined {
  if (!patch) return undefined;
  let operations: unknown;
  try {
    operations = parseJson(Buffer.from(patch, 'base64').toString('utf8'));
  } catch (error) {
    throw new ResponseError(`received undecodable patch in webhook response: ${(error as Error).message}`);
  }
  if (!Array.isArray(operations)) {
    throw new ResponseError('received undecodable patch in webhook response: it is not a list of operations');
  }
  if (operations.length === 0) return undefined;
  if (patchType && patchType !== 'JSONPatch') {
    throw new ResponseError(`unsupported patch type ${JSON.stringify(patchType)}`);
  }
  return operations;
}

/** The error for a client whose request a webhook rejected: the Status of the webhook with its name as a prefix. */
export function denial(webhook: string, result: Partial<Status> | undefined): ApiError {
  const denied = `admission webhook ${JSON.stringify(webhook)} denied the request`;
  const why = result?.message || result?.reason;
  const message = why ? `${denied}: ${why}` : `${denied} without explanation`;
  return new ApiError(Math.max(result?.code ?? 0, 400), result?.reason ?? '', message, result?.details);
}
