import type { Service } from '@tidegate/kube';
import { ROUTER_LABEL, sectionOfPort } from '../../api/index.ts';

/** The value of ROUTER_LABEL of the pods that a Service selects. */
export const selectedPodsOf = ({ spec }: Service): string[] => {
  const key = spec?.selector?.[ROUTER_LABEL];
  return key === undefined ? [] : [key];
};

/**
 * The sections that these Services lead to, with the names of their routers. A router that changes to other pods keeps its
 * Service until those serve it, whatever its spec says. Pure.
 */
export function ledSections(services: readonly Service[]): ReadonlyMap<number, string> {
  const sections = new Map<number, string>();
  for (const { metadata, spec } of services) {
    const http = spec?.ports?.find(({ name }) => name === 'http')?.targetPort;
    const section = sectionOfPort(http);
    const router = metadata.labels?.[ROUTER_LABEL];
    if (section !== undefined && router !== undefined) sections.set(section, router);
  }
  return sections;
}
