import type { Service } from '@tidegate/kube';

const HEADLESS_LABEL = 'service.kubernetes.io/headless';

/** What the endpoints of a Service carry over from it, and whether it has an address of its own. */
export function serviceLabels({ metadata, spec }: Service): Record<string, string> {
  const { [HEADLESS_LABEL]: _, ...labels } = metadata.labels ?? {};
  const isHeadless = spec?.clusterIP === undefined || spec.clusterIP === '' || spec.clusterIP === 'None';
  return { ...labels, ...(isHeadless && { [HEADLESS_LABEL]: '' }) };
}
