/**
 * Conversion webhooks of CustomResourceDefinitions: a ConversionReview with the objects and the wanted version, and the
 * converted objects in its response. A webhook must not change what identifies an object.
 */

import { randomUUID } from 'node:crypto';
import { isJsonMap, type KubeObject } from '@tidegate/kube';
import { type ApiError, internalError } from '@tidegate/serving';
import type { WebhookTransport } from '../admission/webhooks/transport.ts';
import type { Converter } from '../resources/types.ts';
import type { WebhookClientConfig } from '../resources/webhooks/types.ts';
import { decodeMetadata } from '../schema/decode.ts';
import { parseJson } from '../schema/json.ts';
import type { CustomResourceDefinition } from './types.ts';

const REVIEW_VERSION = 'v1';
const TIMEOUT_SECONDS = 30;

interface ConversionResponse {
  uid?: string;
  convertedObjects?: unknown[];
  result?: { status?: string; message?: string };
}

/** The converter of a definition; undefined if its versions differ only in their name. */
export function converterOf(
  crd: CustomResourceDefinition,
  transport: WebhookTransport,
): Converter | undefined {
  const { strategy, webhook } = crd.spec.conversion ?? {};
  if (strategy !== 'Webhook') return undefined;
  const { clientConfig = {}, conversionReviewVersions = [] } = webhook ?? {};
  const kind = crd.spec.names?.kind ?? '';
  return async (objects, apiVersion) => {
    const others = objects.filter((object) => object.apiVersion !== apiVersion);
    if (others.length === 0) return [...objects];
    const failed = (cause: unknown): ApiError => {
      const from = `${others[0]?.apiVersion}, Kind=${kind}`;
      const why = cause instanceof Error ? cause.message : String(cause);
      return internalError(new Error(`conversion webhook for ${from} failed: ${why}`, { cause }));
    };
    if (!conversionReviewVersions.includes(REVIEW_VERSION)) {
      throw failed(`webhook does not accept known ConversionReview versions (${REVIEW_VERSION})`);
    }
    const converted = await call(transport, clientConfig as WebhookClientConfig, others, apiVersion).catch(
      (error: unknown) => Promise.reject(failed(error)),
    );
    let next = 0;
    return objects.map((object) =>
      object.apiVersion === apiVersion ? object : (converted[next++] as KubeObject),
    );
  };
}

async function call(
  transport: WebhookTransport,
  config: WebhookClientConfig,
  objects: readonly KubeObject[],
  desiredAPIVersion: string,
): Promise<KubeObject[]> {
  const uid = randomUUID();
  const apiVersion = `apiextensions.k8s.io/${REVIEW_VERSION}`;
  const review = { kind: 'ConversionReview', apiVersion, request: { uid, desiredAPIVersion, objects } };
  const response = responseIn(await transport.post(config, review, TIMEOUT_SECONDS), apiVersion, uid);
  if (response.result?.status !== 'Success') {
    throw new Error(response.result?.message || 'the webhook did not report success');
  }
  const converted = response.convertedObjects ?? [];
  if (converted.length !== objects.length) {
    throw new Error(`returned ${converted.length} objects, expected ${objects.length}`);
  }
  return objects.map((object, i) => checked(converted[i], object, desiredAPIVersion, i));
}

function responseIn(text: string, apiVersion: string, uid: string): ConversionResponse {
  const review = parseJson(text);
  if (!isJsonMap(review) || review.kind !== 'ConversionReview' || review.apiVersion !== apiVersion) {
    throw new Error(`expected a ConversionReview of ${apiVersion}`);
  }
  const response = (review.response ?? {}) as ConversionResponse;
  if (response.uid !== uid) throw new Error(`expected response.uid=${JSON.stringify(uid)}`);
  return response;
}

/** Only labels and annotations of the metadata may change; everything else is that of the original. */
function checked(value: unknown, original: KubeObject, apiVersion: string, index: number): KubeObject {
  const at = `response.convertedObjects[${index}]`;
  if (!isJsonMap(value)) throw new Error(`${at} is not an object`);
  const { kind, metadata: given } = value;
  if (value.apiVersion !== apiVersion) {
    throw new Error(
      `${at} has apiVersion ${JSON.stringify(value.apiVersion)}, expected ${JSON.stringify(apiVersion)}`,
    );
  }
  if (kind !== original.kind) {
    throw new Error(`${at} has kind ${JSON.stringify(kind)}, expected ${JSON.stringify(original.kind)}`);
  }
  const metadata = decodeMetadata(given, 'metadata', []) as KubeObject['metadata'];
  for (const field of ['name', 'namespace', 'uid'] as const) {
    if ((metadata[field] ?? '') !== (original.metadata[field] ?? '')) {
      throw new Error(
        `${at} has ${field} ${JSON.stringify(metadata[field] ?? '')}, expected ${JSON.stringify(original.metadata[field] ?? '')}`,
      );
    }
  }
  const { labels: _, annotations: __, ...identity } = original.metadata;
  const { labels, annotations } = metadata;
  return {
    ...value,
    metadata: { ...identity, ...(labels && { labels }), ...(annotations && { annotations }) },
  } as KubeObject;
}
