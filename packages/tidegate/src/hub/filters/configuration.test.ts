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
  it('reads lists of components, as OpenYurt writes them', () => {
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
    ['endpoints', 'traefik', /^there is no such filter: name one of masterservice, /],
    ['masterservice', 'kubelet/v1.36', /^"kubelet\/v1.36" is no component: write its user agent up to the/],
    ['masterservice', '*', /^"\*" is no component/],
    ['masterservice', '-kube-proxy', /^"-kube-proxy" takes nothing away: the filter is for kubelet$/],
    ['masterservice', 'kubelet,-kubelet', /^"-kubelet" contradicts an entry before it: remove one of them$/],
  ])('says what is wrong with %s: %s', (key, value, message) => {
    const { settings, problems } = parse({ [key]: `${value}`, servicetopology: 'traefik' });
    expect(problems).toEqual([{ key, message: expect.stringMatching(message) }]);
    expect(settings.get('servicetopology')?.added).toEqual(['traefik']);
  });

  it('applies the rest of a list with a mistake in it', () => {
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

  it('applies what is there, every change, and the defaults when it is deleted', () => {
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

  it('is content with no ConfigMap', () => {
    expect(setUp().filters.chainFor('kubelet', SERVICES, 'list').id).toBe('masterservice');
  });

  it('logs what has no effect', () => {
    const { view, lines } = setUp();
    view.put({ ...configMap({ cache_agents: '*', nonsense: '' }) });
    expect(lines).toEqual([
      expect.stringMatching(/^nonsense: there is no such filter/),
      'cache_agents: has no effect: what any component reads is kept',
    ]);
  });
});
