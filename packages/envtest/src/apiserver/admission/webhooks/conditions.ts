/** `matchConditions`: CEL expressions that must all be true for a webhook to be called. */

import { forbidden } from '@tidegate/serving';
import type { Attributes, Authorizer } from '../../auth/authorization.ts';
import { serviceAccountGroups, serviceAccountUsername } from '../../auth/identity.ts';
import type { AdmissionAttributes } from '../../operations/core.ts';
import type { UserInfo } from '../../resources/types.ts';
import type { Webhook } from '../../resources/webhooks/types.ts';
import type { Authorize, AuthorizerQuestion } from '../../schema/cel/authorizer.ts';
import { Budget, CONDITIONS_BUDGET, EXHAUSTED } from '../../schema/cel/cost.ts';
import { compileMatchCondition, type MatchCondition } from '../../schema/cel/match-condition.ts';
import type { Served } from '../../served/registry.ts';
import { formsOf, reviewRequest } from './review.ts';

/**
 * Compiles and evaluates match conditions. Conditions run in the API server, so a request that they exclude costs no
 * call.
 */
export class MatchConditions {
  readonly #authorizer: Authorizer;
  /** Compiled once for each version of a configuration. */
  readonly #compiled = new WeakMap<Webhook, MatchCondition[]>();

  constructor(authorizer: Authorizer) {
    this.#authorizer = authorizer;
  }

  /** A false condition decides. Errors matter only if no condition is false, and then the failurePolicy decides. */
  async hold(webhook: Webhook, attributes: AdmissionAttributes, target: Served): Promise<boolean> {
    if (!webhook.matchConditions?.length) return true;
    const forms = await formsOf(attributes, target);
    const { request } = reviewRequest('', 'v1', attributes, target, forms) as {
      request: Record<string, unknown>;
    };
    const { object, oldObject, ...rest } = request;
    const authorize = authorizeFor(this.#authorizer, attributes.user);
    const errors: string[] = [];
    const budget = new Budget(CONDITIONS_BUDGET);
    for (const holds of this.#conditions(webhook)) {
      try {
        if (!holds({ object, oldObject, request: rest, authorize }, budget)) return false;
      } catch (error) {
        errors.push((error as Error).message);
      }
      if (budget.left < 0) {
        errors.push(EXHAUSTED);
        break;
      }
    }
    if (errors.length === 0) return true;
    if (webhook.failurePolicy === 'Ignore') return false;
    const { group, plural } = attributes.served.definition;
    const text = errors.length === 1 ? errors[0]! : `[${errors.join(', ')}]`;
    throw forbidden({ group, resource: plural }, attributes.name, text);
  }

  #conditions(webhook: Webhook): MatchCondition[] {
    let compiled = this.#compiled.get(webhook);
    if (compiled === undefined) {
      compiled = (webhook.matchConditions ?? []).map(({ expression = '' }) =>
        compileMatchCondition(expression),
      );
      this.#compiled.set(webhook, compiled);
    }
    return compiled;
  }
}

/** Answers the questions of `authorizer` in an expression, for the user of the request. */
export const authorizeFor =
  (authorizer: Authorizer, requestor: UserInfo): Authorize =>
  (question) => {
    const { serviceAccount } = question;
    const user =
      serviceAccount === undefined
        ? requestor
        : {
            username: serviceAccountUsername(serviceAccount.namespace, serviceAccount.name),
            groups: serviceAccountGroups(serviceAccount.namespace),
          };
    return authorizer.authorize(user, attributesOf(question)).allowed;
  };

function attributesOf(question: AuthorizerQuestion): Attributes {
  const { verb, path, group = '', resource = '', subresource = '', namespace = '', name = '' } = question;
  return path === undefined ? { verb, group, resource, subresource, namespace, name } : { verb, path };
}
