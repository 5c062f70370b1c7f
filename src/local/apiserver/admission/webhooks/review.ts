/** AdmissionReview: the question that a webhook is put, and its answer. */
import type { KubeObject, Status } from '../../../../kube/object.ts';
import { fromStorage } from '../../codec.ts';
import { ApiError } from '../../errors.ts';
import type { AdmissionAttributes } from '../../operations/core.ts';
import type { Served } from '../../registry.ts';
import { JsonSyntaxError, parseJson } from '../../schema/json.ts';

const VERSIONS = ['v1', 'v1beta1'] as const;
export type ReviewVersion = (typeof VERSIONS)[number];

export interface AdmissionResponse {
  allowed: boolean;
  status?: Partial<Status>;
  patch?: unknown;
  warnings: string[];
}

/** The first version that the webhook offers and we speak. */
export const reviewVersion = (offered: string[] | undefined): ReviewVersion | undefined =>
  offered?.find((version): version is ReviewVersion => VERSIONS.some((known) => known === version));

export function reviewRequest(
  uid: string,
  version: ReviewVersion,
  attributes: AdmissionAttributes,
  target: Served,
): object {
  const { served, subresource, name, operation, user, dryRun, object, oldObject } = attributes;
  const at = (one: KubeObject | undefined): KubeObject | null =>
    one === undefined ? null : fromStorage(target, one);
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
      object: at(object),
      oldObject: at(oldObject),
      dryRun,
      options: attributes.options,
    },
  };
}

/** A namespace is in itself. */
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

/** Throws with what is wrong about an answer; the caller wraps it. */
export function readResponse(
  text: string,
  expected: { uid: string; version: ReviewVersion; mutating: boolean },
): AdmissionResponse {
  const review = parseReview(text);
  const response = review.response;
  if (response === undefined || response === null) throw new Error('webhook response was absent');
  if (expected.version === 'v1') checkV1(review, response, expected);
  const patch = expected.mutating && response.patch ? decodePatch(response.patch) : undefined;
  return {
    allowed: response.allowed === true,
    status: response.status,
    patch,
    warnings: response.warnings ?? [],
  };
}

interface Review {
  kind?: string;
  apiVersion?: string;
  response?: RawResponse | null;
}

function parseReview(text: string): Review {
  try {
    return (parseJson(text) ?? {}) as Review;
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw new UndecodableError(`couldn't get version/kind; json parse error: ${error.message}`);
  }
}

/** The answer is not even an AdmissionReview: the call itself has failed. */
export class UndecodableError extends Error {}

/** The first version never checked these. */
function checkV1(review: Review, response: RawResponse, expected: { uid: string; mutating: boolean }): void {
  const quote = (text: string | undefined): string => JSON.stringify(text ?? '');
  if (response.uid !== expected.uid) {
    throw new Error(`expected response.uid=${quote(expected.uid)}, got ${quote(response.uid)}`);
  }
  if (review.apiVersion !== 'admission.k8s.io/v1' || review.kind !== 'AdmissionReview') {
    const got = `${review.apiVersion ?? ''}, Kind=${review.kind ?? ''}`;
    throw new Error(`expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got ${got}`);
  }
  const { patch, patchType } = response;
  const typed = patchType !== undefined && patchType !== null;
  if (!expected.mutating) {
    if (patch) throw new Error('validating webhook may not return response.patch');
    if (typed) throw new Error('validating webhook may not return response.patchType');
    return;
  }
  if (patch && !typed) throw new Error('webhook returned response.patch but not response.patchType');
  if (!patch && typed) throw new Error('webhook returned response.patchType but not response.patch');
  if (typed && patchType !== 'JSONPatch') {
    throw new Error(
      patchType === ''
        ? 'webhook returned invalid response.patchType of ""'
        : `unsupported patch type ${JSON.stringify(patchType)}`,
    );
  }
}

function decodePatch(base64: string): unknown {
  try {
    return parseJson(Buffer.from(base64, 'base64').toString('utf8'));
  } catch (error) {
    throw new Error(`received undecodable patch in webhook response: ${(error as Error).message}`);
  }
}

/** What the client is told when a webhook says no: the webhook's own Status, with its name in front. */
export function denial(webhook: string, result: Partial<Status> | undefined): ApiError {
  const denied = `admission webhook ${JSON.stringify(webhook)} denied the request`;
  const why = result?.message || result?.reason;
  const message = why ? `${denied}: ${why}` : `${denied} without explanation`;
  return new ApiError(Math.max(result?.code ?? 0, 400), result?.reason ?? '', message, result?.details);
}
