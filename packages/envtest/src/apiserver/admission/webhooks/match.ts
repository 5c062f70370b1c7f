/** Which requests a webhook wants to see. Pure. */
import { type LabelSelector, matcherFromSelector } from '@tidegate/kube';
import type { AdmissionAttributes } from '../../operations/core.ts';
import type { Webhook, WebhookRule } from '../../resources/webhooks/types.ts';
import type { Served } from '../../served/registry.ts';

/** The request as a rule sees it, with the group, version and resource that the rule is to be tried on. */
interface Tried {
  operation: string;
  group: string;
  version: string;
  resource: string;
  subresource: string;
  namespaced: boolean;
}

/**
 * The resource at the version in which the webhook wants it: the requested one, or, with matchPolicy Equivalent,
 * another face of the same objects. Undefined: it does not want the request at all.
 */
export function wantedAs(
  webhook: Webhook,
  attributes: AdmissionAttributes,
  equivalents: () => readonly Served[],
): Served | undefined {
  const rules = webhook.rules ?? [];
  if (rules.some((rule) => ruleMatches(rule, tried(attributes, attributes.served)))) return attributes.served;
  if (webhook.matchPolicy === 'Exact') return undefined;
  const others = equivalents();
  for (const rule of rules) {
    const found = others.find((served) => ruleMatches(rule, tried(attributes, served)));
    if (found !== undefined) return found;
  }
  return undefined;
}

function tried(attributes: AdmissionAttributes, { definition, version }: Served): Tried {
  return {
    operation: attributes.operation,
    group: definition.group,
    version: version.name,
    resource: definition.plural,
    subresource: attributes.subresource,
    namespaced: definition.namespaced,
  };
}

export function ruleMatches(rule: WebhookRule, request: Tried): boolean {
  const { scope = '*' } = rule;
  return (
    (scope === '*' || (scope === 'Namespaced') === request.namespaced) &&
    hasOrAll(rule.operations, request.operation) &&
    hasOrAll(rule.apiGroups, request.group) &&
    hasOrAll(rule.apiVersions, request.version) &&
    (rule.resources ?? []).some((resource) => resourceMatches(resource, request))
  );
}

const hasOrAll = (list: string[] | undefined, wanted: string): boolean =>
  list !== undefined && (list.includes('*') || list.includes(wanted));

/** `pods` and `*` are without subresources; `pods/*` and `*\/*` with them. */
function resourceMatches(pattern: string, request: Tried): boolean {
  const [resource, subresource = ''] = pattern.split('/');
  return (
    (resource === '*' || resource === request.resource) &&
    (subresource === '*' || subresource === request.subresource)
  );
}

/** Stored configurations were validated, so what is optional in writing is there. */
type Selector = Webhook['objectSelector'];

const isEmpty = (selector: Selector): boolean =>
  Object.keys(selector?.matchLabels ?? {}).length === 0 && (selector?.matchExpressions ?? []).length === 0;

/** The selector holds for the object as it is or as it was: nobody leaves its reach by changing a label. */
export function objectSelected(selector: Selector, { object, oldObject }: AdmissionAttributes): boolean {
  if (isEmpty(selector)) return true;
  const matcher = matcherFromSelector(selector as LabelSelector);
  return [object, oldObject].some((one) => one !== undefined && matcher.matches(one.metadata.labels ?? {}));
}

/** `labels` are asked for only when there is something to select by. */
export const namespaceSelected = (
  selector: Selector,
  labels: () => Readonly<Record<string, string>>,
): boolean => isEmpty(selector) || matcherFromSelector(selector as LabelSelector).matches(labels());
