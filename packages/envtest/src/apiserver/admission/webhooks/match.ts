/** Decides which requests a webhook receives. Pure. */
import { type LabelSelector, matcherFromSelector } from '@tidegate/kube';
import type { AdmissionAttributes } from '../../operations/core.ts';
import type { Webhook, WebhookRule } from '../../resources/webhooks/types.ts';
import type { Served } from '../../served/registry.ts';

/** The request as seen by a rule, with the group, version and resource to match. */
interface Tried {
  operation: string;
  group: string;
  version: string;
  resource: string;
  subresource: string;
  namespaced: boolean;
}

/**
 * The resource and version in which the webhook receives the request: the requested one or, with matchPolicy
 * Equivalent, another one for the same stored objects. Returns undefined if the webhook does not receive the request.
 */
export function wantedAs(
  webhook: Pick<Webhook, 'rules' | 'matchPolicy'>,
  attributes: AdmissionAttributes,
  equivalents: () => readonly Served[],
): Served | undefined {
  const rules = webhook.rules ?? [];
  if (rules.some((rule) => ruleMatches(rule, tried(attributes, attributes.served)))) return attributes.served;
  // With Equivalent, a webhook for `apps/v1` also receives requests for the same objects through another version.
  // Without it, a client could evade the webhook by using that version.
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

/** `pods` and `*` do not include subresources; `pods/*` and `*\/*` do. */
function resourceMatches(pattern: string, request: Tried): boolean {
  const [resource, subresource = ''] = pattern.split('/');
  return (
    (resource === '*' || resource === request.resource) &&
    (subresource === '*' || subresource === request.subresource)
  );
}

/** Stored configurations are validated and defaulted, so optional fields are set. */
type Selector = Webhook['objectSelector'];

const isEmpty = (selector: Selector): boolean =>
  Object.keys(selector?.matchLabels ?? {}).length === 0 && (selector?.matchExpressions ?? []).length === 0;

/** True if the selector matches the new or the old object, so that changing a label does not evade the webhook. */
export function objectSelected(selector: Selector, { object, oldObject }: AdmissionAttributes): boolean {
  if (isEmpty(selector)) return true;
  const matcher = matcherFromSelector(selector as LabelSelector);
  return [object, oldObject].some((one) => one !== undefined && matcher.matches(one.metadata.labels ?? {}));
}

/** `labels` is called only if the selector is not empty. */
export const namespaceSelected = (
  selector: Selector,
  labels: () => Readonly<Record<string, string>>,
): boolean => isEmpty(selector) || matcherFromSelector(selector as LabelSelector).matches(labels());
