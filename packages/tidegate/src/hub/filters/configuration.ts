/**
 * What the ConfigMap kube-system/yurt-hub-cfg says of filters: a key for each, and behind it the components that it is
 * for besides its own, `-` before those of its own that it shall not be for.
 */

import type { ConfigMap, Logger } from '@tidegate/kube';
import { HUB_CONFIG_MAP } from '../../api/index.ts';
import type { View } from '../views/index.ts';
import type { Filter } from './filter.ts';
import type { ComponentChanges, FilterSettings, Filters } from './filters.ts';

const { namespace, name } = HUB_CONFIG_MAP;
const CONFIG_MAP_KEY = `${namespace}/${name}`;

/** All that a view has to select for this. */
export const CONFIGURATION_SELECTION = { namespace, fieldSelector: `metadata.name=${name}` } as const;

/** OpenYurt keeps what these components read; here everyone's views are kept. */
const CACHE_AGENTS = 'cache_agents';
/** A user agent up to its slash, in lower case. */
const COMPONENT = /^[a-z0-9][a-z0-9._-]*$/;

/** An entry that has no effect, and what to write instead. */
export interface ConfigurationProblem {
  readonly key: string;
  readonly message: string;
}

/** What can be understood applies; the rest is told. */
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
      report(`there is no such filter: name one of ${filters.map((each) => each.name).join(', ')}`);
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
    const taken = entry.startsWith('-');
    const component = (taken ? entry.slice(1) : entry).toLowerCase();
    const quoted = JSON.stringify(entry);
    if (!COMPONENT.test(component)) {
      report(`${quoted} is no component: write its user agent up to the slash, such as kube-proxy`);
    } else if ((taken ? added : removed).has(component)) {
      report(`${quoted} contradicts an entry before it: remove one of them`);
    } else if (taken && !filter.components.includes(component)) {
      report(`${quoted} takes nothing away: the filter is for ${filter.components.join(', ')}`);
    } else (taken ? removed : added).add(component);
  }
  return { added: [...added], removed: [...removed] };
}

/** Configures the filters by what the view holds, now and after every change. Returns how to stop that. */
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
        'has no effect: what any component reads is kept',
      );
    }
    filters.configure(settings, cause);
  };
  read();
  return view.subscribe((changes, resourceVersion) => {
    if (changes.length > 0) read(resourceVersion);
  });
}
