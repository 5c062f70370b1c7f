/**
 * Mutating and validating webhooks. For each request:
 *
 *   select the webhooks (rules, selectors, matchConditions) and the version in which each receives the object
 *     mutating:   called one after the other; each sees the changes of the previous ones. Webhooks with
 *                 reinvocationPolicy IfNeeded are called again if the object changed after their call
 *     validating: called in parallel; the first denial is returned
 */
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '@tidegate/kube';
import { type ApiError, badRequest, internalError } from '@tidegate/serving';
import type { Authorizer } from '../../auth/authorization.ts';
import type { AdmissionAttributes } from '../../operations/core.ts';
import { applyJsonPatch } from '../../patch/json-patch.ts';
import type { Webhook } from '../../resources/webhooks/types.ts';
import { decodeCustom } from '../../schema/custom.ts';
import { decode } from '../../schema/decode.ts';
import { readableOne, storable } from '../../served/codec.ts';
import type { Registry, Served } from '../../served/registry.ts';
import type { Store } from '../../store/types.ts';
import { MatchConditions } from './conditions.ts';
import { WebhookConfigurations } from './configurations.ts';
import { RequestMatcher } from './matcher.ts';
import {
  type AdmissionResponse,
  denial,
  formsOf,
  ResponseError,
  readResponse,
  reviewRequest,
  reviewVersion,
} from './review.ts';
import { type ServiceResolver, storeServiceResolver } from './service-resolver.ts';
import { WebhookTransport } from './transport.ts';

export interface AdmissionWebhooksOptions {
  store: Store;
  registry: Registry;
  authorizer: Authorizer;
  resolveService?: ServiceResolver;
  uuid?: () => string;
}

/** The call failed or the response is invalid. The failurePolicy of the webhook decides. */
class CallFailure extends Error {}

const DEFAULT_TIMEOUT = 10;

/** Calls the webhooks for each write. Configurations take effect as soon as they are stored. */
export class AdmissionWebhooks {
  readonly #matcher: RequestMatcher;
  readonly #conditions: MatchConditions;
  readonly #uuid: () => string;
  readonly #transport: WebhookTransport;
  readonly #mutating: WebhookConfigurations;
  readonly #validating: WebhookConfigurations;

  constructor(options: AdmissionWebhooksOptions) {
    this.#matcher = new RequestMatcher(options.store, options.registry);
    this.#conditions = new MatchConditions(options.authorizer);
    this.#uuid = options.uuid ?? randomUUID;
    this.#transport = new WebhookTransport(options.resolveService ?? storeServiceResolver(options.store));
    this.#mutating = new WebhookConfigurations(options.store, 'mutating');
    this.#validating = new WebhookConfigurations(options.store, 'validating');
  }

  close(): void {
    this.#mutating.close();
    this.#validating.close();
    this.#transport.close();
  }

  /** The object after all webhooks; the given object if none changed it. */
  async mutate(attributes: AdmissionAttributes): Promise<KubeObject | undefined> {
    const webhooks = this.#mutating.all();
    if (webhooks.length === 0 || isExempt(attributes)) return attributes.object;
    const now = { ...attributes };
    const repeatable = new Set<Webhook>();
    const toRepeat = new Set<Webhook>();
    const call = async (webhook: Webhook): Promise<void> => {
      const target = await this.#wanted(webhook, now);
      if (target === undefined) return;
      const object = await this.#mutateBy(webhook, target, now);
      if (object !== now.object) {
        now.object = object;
        for (const earlier of repeatable) toRepeat.add(earlier);
        repeatable.clear();
      }
      if (webhook.reinvocationPolicy === 'IfNeeded') repeatable.add(webhook);
    };
    // One after the other: each webhook sees the changes of the previous ones. `repeatable` has the webhooks that
    // must run again if a later one changes the object. They run again once, without a further repetition.
    for (const webhook of webhooks) await call(webhook);
    for (const webhook of webhooks.filter((one) => toRepeat.has(one))) await call(webhook);
    return now.object;
  }

  /**
   * Calls all matching webhooks in parallel. If several reject the request, the error of the first one is returned,
   * in the order of the configurations.
   */
  async validate(attributes: AdmissionAttributes): Promise<void> {
    const webhooks = this.#validating.all();
    if (webhooks.length === 0 || isExempt(attributes)) return;
    const calls = webhooks.map(async (webhook) => {
      const target = await this.#wanted(webhook, attributes);
      if (target !== undefined) await this.#ask(webhook, target, attributes, false);
    });
    const results = await Promise.allSettled(calls);
    const refused = results.find((result) => result.status === 'rejected');
    if (refused !== undefined) throw refused.reason;
  }

  async #mutateBy(
    webhook: Webhook,
    target: Served,
    attributes: AdmissionAttributes,
  ): Promise<KubeObject | undefined> {
    const response = await this.#ask(webhook, target, attributes, true);
    const { patch } = response ?? {};
    if (patch === undefined) return attributes.object;
    if (attributes.object === undefined) {
      throw internalError(
        `admission webhook ${quote(webhook)} attempted to modify the object, which is not supported for this operation`,
      );
    }
    const before = await readableOne(target, structuredClone(attributes.object));
    const patched = await storable(target, decodeAt(target, applyPatch(before, patch)));
    return isDeepStrictEqual(plain(patched), plain(attributes.object)) ? attributes.object : patched;
  }

  /** Returns undefined if the call failed and the failurePolicy is Ignore. */
  async #ask(
    webhook: Webhook,
    target: Served,
    attributes: AdmissionAttributes,
    mutating: boolean,
  ): Promise<AdmissionResponse | undefined> {
    let response: AdmissionResponse;
    try {
      response = await this.#call(webhook, target, attributes, mutating);
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error;
      if (webhook.failurePolicy === 'Ignore') return undefined;
      throw internalError(
        new Error(`failed calling webhook ${quote(webhook)}: ${error.message}`, { cause: error }),
      );
    }
    for (const warning of response.warnings) attributes.warn(warning);
    if (!response.allowed) throw denial(webhook.name ?? '', response.status);
    return response;
  }

  /**
   * One call. Throws a CallFailure for everything that the failurePolicy covers, and an ApiError for everything that
   * it does not cover, for example a dry run that the webhook does not support.
   */
  async #call(
    webhook: Webhook,
    target: Served,
    attributes: AdmissionAttributes,
    mutating: boolean,
  ): Promise<AdmissionResponse> {
    const { sideEffects, clientConfig = {}, timeoutSeconds = DEFAULT_TIMEOUT } = webhook;
    if (attributes.dryRun && sideEffects !== 'None' && sideEffects !== 'NoneOnDryRun') {
      throw badRequest(`admission webhook ${quote(webhook)} does not support dry run`);
    }
    const version = reviewVersion(webhook.admissionReviewVersions);
    if (version === undefined) {
      throw new CallFailure(
        'could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)',
      );
    }
    const uid = this.#uuid();
    const review = reviewRequest(uid, version, attributes, target, await formsOf(attributes, target));
    const text = await this.#transport.post(clientConfig, review, timeoutSeconds).catch((cause: Error) => {
      throw new CallFailure(`failed to call webhook: ${cause.message}`, { cause });
    });
    try {
      return readResponse(text, { uid, version, mutating });
    } catch (cause) {
      if (!(cause instanceof ResponseError)) throw cause;
      throw new CallFailure(cause.message, { cause });
    }
  }

  /** The version in which the webhook receives the request; undefined if it does not match. */
  async #wanted(webhook: Webhook, attributes: AdmissionAttributes): Promise<Served | undefined> {
    const target = this.#matcher.match(webhook, attributes);
    if (target === undefined) return undefined;
    return (await this.#conditions.hold(webhook, attributes, target)) ? target : undefined;
  }
}

/** Webhooks are not called for webhook configurations. Otherwise a broken webhook could prevent its own removal. */
const isExempt = ({ served }: AdmissionAttributes): boolean =>
  served.definition.group === 'admissionregistration.k8s.io';

const quote = (webhook: Webhook): string => JSON.stringify(webhook.name ?? '');

const plain = (object: KubeObject): unknown => JSON.parse(JSON.stringify(object));

function applyPatch(object: KubeObject, patch: unknown[]): Record<string, unknown> {
  try {
    return applyJsonPatch(object, patch) as Record<string, unknown>;
  } catch (error) {
    throw internalError((error as ApiError).cause ?? error);
  }
}

/** Webhooks can add unknown fields, like any client. */
function decodeAt({ definition, version }: Served, object: Record<string, unknown>): KubeObject {
  const options = { schema: version.schema };
  try {
    return (definition.custom ? decodeCustom(object, options) : decode(object, options)).object;
  } catch (error) {
    // The error is not in the request of the client.
    throw internalError(error);
  }
}
