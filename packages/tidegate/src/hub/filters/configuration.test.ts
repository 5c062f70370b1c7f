import {
  CONFIG_MAPS,
  ENDPOINTS,
  type KubeObject,
  type Logger,
  Metrics,
  SERVICES,
  silentLogger,
} from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import { HUB_CONFIG_MAP } from '../../api/index.ts';
import { allFilters } from './all.ts';
import { followConfiguration, parseConfiguration } from './configuration.ts';
import { Filters } from './filters.ts';
import { contextOf } from './testing/context.ts';
import { TestView } from './testing/test-view.ts';

const all = allFilters({ log: silentLogger, metrics: new Metrics() });
const parse = (data: Record<string, string>) => parseConfiguration(data, all);

describe('parseConfiguration', () => {
  it('parses lists of components in the format of OpenYurt', () => {
    const { settings, problems } = parse({
      cache_agents: '*',
      servicetopology: ' Traefik, kube-router,, -coredns ',
      discardcloudservice: '',
    });
    expect(settings.get('servicetopology')).toEqual({
      added: ['traefik', 'kube-router'],
      removed: ['coredns'],
    });
    expect(settings.get('discardcloudservice')).toEqual({ added: [], removed: [] });
    expect(problems).toEqual([]);
  });

  it.each([
    ['endpoints', 'traefik', /^unknown filter; valid filters: masterservice, /],
    [
      'masterservice',
      'kubelet/v1.36',
      /^"kubelet\/v1.36" is not a valid component; use the user agent up to the/,
    ],
    ['masterservice', '*', /^"\*" is not a valid component/],
    [
      'masterservice',
      '-kube-proxy',
      /^"-kube-proxy" has no effect, because the filter does not apply to this component by default; components that can be removed: kubelet$/,
    ],
    ['masterservice', 'kubelet,-kubelet', /^"-kubelet" contradicts an earlier entry; remove one of them$/],
  ])('reports the invalid entry %s: %s', (key, value, message) => {
    const { settings, problems } = parse({ [key]: `${value}`, servicetopology: 'traefik' });
    expect(problems).toEqual([{ key, message: expect.stringMatching(message) }]);
    expect(settings.get('servicetopology')?.added).toEqual(['traefik']);
  });

  it('applies the valid components of a list with an invalid one', () => {
    expect(parse({ masterservice: 'a b,agent' }).settings.get('masterservice')?.added).toEqual(['agent']);
  });
});

describe('followConfiguration', () => {
  const configMap = (data: Record<string, string>): KubeObject => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { ...HUB_CONFIG_MAP },
    data,
  });

  function setUp(...objects: KubeObject[]) {
    const lines: string[] = [];
    const write = (fields: object, message: string): unknown =>
      lines.push(`${(fields as { key: string }).key}: ${message}`);
    const log: Logger = { ...silentLogger, warn: write, info: write };
    const view = new TestView(CONFIG_MAPS, objects);
    const filters = new Filters({ filters: all, context: contextOf([]).context, disabled: [] });
    const stop = followConfiguration(view, filters, log);
    const chainOf = (component: string): string => filters.chainFor(component, ENDPOINTS, 'watch').id;
    return { view, filters, chainOf, lines, stop };
  }

  it('applies the ConfigMap, its changes, and the defaults after it is deleted', () => {
    const { view, chainOf, stop } = setUp(configMap({ servicetopology: 'traefik' }));
    expect(chainOf('traefik')).toBe('servicetopology');
    view.put(configMap({ servicetopology: '-coredns' }));
    expect(chainOf('traefik')).toBe('');
    expect(chainOf('coredns')).toBe('');
    view.delete('kube-system/yurt-hub-cfg');
    expect(chainOf('coredns')).toBe('servicetopology');
    stop();
    view.put(configMap({ servicetopology: 'traefik' }));
    expect(chainOf('traefik')).toBe('');
  });

  it('applies the defaults without a ConfigMap', () => {
    expect(setUp().filters.chainFor('kubelet', SERVICES, 'list').id).toBe('masterservice');
  });

  it('logs keys that have no effect', () => {
    const { view, lines } = setUp();
    view.put({ ...configMap({ cache_agents: '*', nonsense: '' }) });
    expect(lines).toEqual([
      expect.stringMatching(/^nonsense: unknown filter/),
      'cache_agents: has no effect, because the hub stores the reads of all components; remove the key',
    ]);
  });
});
