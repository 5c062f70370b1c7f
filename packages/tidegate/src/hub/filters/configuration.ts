/**
 * Reads the configuration of filters from the ConfigMap kube-system/yurt-hub-cfg. It has a key for each filter, with a
 * comma-separated list of components: `traefik` adds a component to the defaults of the filter, `-coredns` removes one.
 */

import type { ConfigMap, Logger } from '@tidegate/kube';
import { HUB_CONFIG_MAP } from '../../api/index.ts';
import type { View } from '../views/index.ts';
import type { Filter } from './filter.ts';
import type { ComponentChanges, FilterSettings, Filters } from './filters.ts';

const { namespace, name } = HUB_CONFIG_MAP;
const CONFIG_MAP_KEY = `${namespace}/${name}`;

/** What a view must select to contain the ConfigMap. */
export const CONFIGURATION_SELECTION = { namespace, fieldSelector: `metadata.name=${name}` } as const;

/** In OpenYurt, the components whose reads are cached. This hub stores the reads of all components. */
const CACHE_AGENTS = 'cache_agents';
/** A user agent up to the first slash, in lower case. */
const COMPONENT = /^[a-z0-9][a-z0-9._-]*$/;

/** A key of the ConfigMap with an invalid value, which has no effect, and what to write instead. */
export interface ConfigurationProblem {
  readonly key: string;
  readonly message: string;
}

/** Parses the data of the ConfigMap. Valid entries apply; each invalid entry is returned as a problem. */
export function parseConfiguration(
  data: Readonly<Record<string, string>>,
  filters: readonly Filter[],
): { settings: FilterSettings; problems: ConfigurationProblem[] } {
  const settings = new Map<string, ComponentChanges>();
  const problems: ConfigurationProblem[] = [];
  for (const [key, value] of Object.entries(data)) {
    const report = (message: string): unknown => problems.push({ key, message });
    const filter = filters.find((each) => each.name === key);
    if (filter !== undefined) settings.set(key, parseComponents(value, filter, report));
    else if (key !== CACHE_AGENTS)
      report(`unknown filter; valid filters: ${filters.map((each) => each.name).join(', ')}`);
  }
  return { settings, problems };
}

function parseComponents(
  value: string,
  filter: Filter,
  report: (message: string) => unknown,
): ComponentChanges {
  const added = new Set<string>();
  const removed = new Set<string>();
  for (const entry of value.split(',').map((text) => text.trim())) {
    if (entry === '') continue;
    const isRemoved = entry.startsWith('-');
    const component = (isRemoved ? entry.slice(1) : entry).toLowerCase();
    const quoted = JSON.stringify(entry);
    if (!COMPONENT.test(component)) {
      report(
        `${quoted} is not a valid component; use the user agent up to the first slash, for example kube-proxy`,
      );
    } else if ((isRemoved ? added : removed).has(component)) {
      report(`${quoted} contradicts an earlier entry; remove one of them`);
    } else if (isRemoved && !filter.components.includes(component)) {
      report(
        `${quoted} has no effect, because the filter does not apply to this component by default; components that can be removed: ${filter.components.join(', ')}`,
      );
    } else (isRemoved ? removed : added).add(component);
  }
  return { added: [...added], removed: [...removed] };
}

/** Applies the ConfigMap in the view to the filters, now and after every change. Returns a function that stops it. */
export function followConfiguration(view: View, filters: Filters, log: Logger): () => void {
  const read = (cause?: string): void => {
    const item = view.get(CONFIG_MAP_KEY);
    const configMap = item && (JSON.parse(item.bytes.toString()) as ConfigMap);
    const data = configMap?.data ?? {};
    const { settings, problems } = parseConfiguration(data, filters.all);
    for (const { key, message } of problems) log.warn({ configMap: CONFIG_MAP_KEY, key }, message);
    if (CACHE_AGENTS in data) {
      log.info(
        { configMap: CONFIG_MAP_KEY, key: CACHE_AGENTS },
        'has no effect, because the hub stores the reads of all components; remove the key',
      );
    }
    filters.configure(settings, cause);
  };
  read();
  return view.subscribe((changes, resourceVersion) => {
    if (changes.length > 0) read(resourceVersion);
  });
}
