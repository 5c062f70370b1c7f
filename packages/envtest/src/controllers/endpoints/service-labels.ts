import type { Service } from '@tidegate/kube';

const HEADLESS_LABEL = 'service.kubernetes.io/headless';

/** The labels that the endpoints of a Service copy from it, and the label that marks a headless Service. */
export function serviceLabels({ metadata, spec }: Service): Record<string, string> {
  const { [HEADLESS_LABEL]: _, ...labels } = metadata.labels ?? {};
  const isHeadless = spec?.clusterIP === undefined || spec.clusterIP === '' || spec.clusterIP === 'None';
  return { ...labels, ...(isHeadless && { [HEADLESS_LABEL]: '' }) };
}
