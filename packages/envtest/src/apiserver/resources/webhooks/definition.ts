import { type Authored, define } from '../define.ts';
import { ageColumn, nameColumn } from '../table.ts';
import type { Webhook, WebhookConfiguration } from './types.ts';
import { validateWebhookConfiguration } from './validate.ts';

const common = (kind: string): Authored<WebhookConfiguration> => ({
  group: 'admissionregistration.k8s.io',
  kind,
  plural: `${kind.toLowerCase()}s`,
  namespaced: false,
  categories: ['api-extensions'],
  generation: true,
  requiresResourceVersion: true,
  table: [
    nameColumn,
    {
      name: 'Webhooks',
      type: 'integer',
      description: 'Webhooks indicates the number of webhooks registered in this configuration',
      cell: ({ webhooks }) => (webhooks ?? []).length,
    },
    ageColumn,
  ],
  defaults: ({ webhooks }) => webhooks?.forEach(defaultWebhook),
  validate: validateWebhookConfiguration,
});

function defaultWebhook(webhook: Webhook): void {
  webhook.clientConfig ??= {};
  webhook.failurePolicy ??= 'Fail';
  webhook.matchPolicy ??= 'Equivalent';
  webhook.namespaceSelector ??= {};
  webhook.objectSelector ??= {};
  webhook.timeoutSeconds ??= 10;
  for (const rule of webhook.rules ?? []) rule.scope ??= '*';
  if (webhook.clientConfig.service !== undefined) webhook.clientConfig.service.port ??= 443;
}

const mutating = common('MutatingWebhookConfiguration');

export const mutatingwebhookconfigurations = define<WebhookConfiguration>({
  ...mutating,
  defaults({ webhooks }) {
    for (const webhook of webhooks ?? []) {
      defaultWebhook(webhook);
      webhook.reinvocationPolicy ??= 'Never';
    }
  },
});

export const validatingwebhookconfigurations = define<WebhookConfiguration>(
  common('ValidatingWebhookConfiguration'),
);
