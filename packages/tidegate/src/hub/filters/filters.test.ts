import {
  CONFIG_MAPS,
  ENDPOINT_SLICES,
  ENDPOINTS,
  Metrics,
  PODS,
  SERVICES,
  silentLogger,
} from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import { allFilters } from './all.ts';
import { Filters } from './filters.ts';
import { contextOf } from './testing/context.ts';

const filtersWith = (...disabled: string[]): Filters =>
  new Filters({
    filters: allFilters({ log: silentLogger, metrics: new Metrics() }),
    context: contextOf([]).context,
    disabled,
  });

describe('chainFor', () => {
  const filters = filtersWith();

  it.each([
    ['kubelet', SERVICES, 'masterservice'],
    ['kubelet', CONFIG_MAPS, 'inclusterconfig'],
    ['kubelet', PODS, 'serviceenvupdater'],
    ['kubelet', ENDPOINT_SLICES, ''],
    ['kube-proxy', SERVICES, 'discardcloudservice,nodeportisolation'],
    ['kube-proxy', ENDPOINT_SLICES, 'forwardkubesvctraffic,servicetopology'],
    ['kube-proxy', ENDPOINTS, 'forwardkubesvctraffic,servicetopology'],
    ['kube-proxy', PODS, ''],
    ['coredns', ENDPOINT_SLICES, 'servicetopology'],
    ['coredns', SERVICES, ''],
    ['edgemesh-agent', ENDPOINTS, 'servicetopology'],
    ['edgemesh-gateway', ENDPOINT_SLICES, 'servicetopology'],
    ['tidegate-router', ENDPOINT_SLICES, 'servicetopology,ingressendpoints'],
    ['nginx-ingress-controller', ENDPOINTS, 'servicetopology,ingressendpoints'],
    ['kubectl', ENDPOINT_SLICES, ''],
  ])('%s reads %o through "%s"', (component, resource, id) => {
    for (const verb of ['get', 'list', 'watch'] as const) {
      expect(filters.chainFor(component, resource, verb).id).toBe(id);
    }
  });

  it('filters responses to writes only if the component uses them as the object', () => {
    expect(filters.chainFor('kubelet', PODS, 'patch').id).toBe('serviceenvupdater');
    expect(filters.chainFor('kubelet', PODS, 'create').id).toBe('');
    expect(filters.chainFor('kubelet', SERVICES, 'update').id).toBe('');
  });

  it('compares the API group too', () => {
    expect(filters.chainFor('kubelet', { group: 'example.com', resource: 'services' }, 'list').id).toBe('');
  });

  it('returns the same chain for the same filters', () => {
    const chain = filters.chainFor('coredns', ENDPOINTS, 'get');
    expect(filters.chainFor('edgemesh-agent', ENDPOINT_SLICES, 'watch')).toBe(chain);
  });
});

describe('disabled filters', () => {
  it('are not part of any chain', () => {
    const filters = filtersWith('masterservice', 'servicetopology');
    expect(filters.chainFor('kubelet', SERVICES, 'list').id).toBe('');
    expect(filters.chainFor('tidegate-router', ENDPOINTS, 'list').id).toBe('ingressendpoints');
    expect(filters.describe().find(({ name }) => name === 'masterservice')).toEqual({
      name: 'masterservice',
      enabled: false,
      components: 'kubelet',
      resources: 'services',
      verbs: 'get, list, watch',
    });
  });

  it('can be all filters', () => {
    expect(filtersWith('*').chainFor('kube-proxy', ENDPOINTS, 'list').id).toBe('');
  });

  it('must exist', () => {
    expect(() => filtersWith('masterservices')).toThrow(
      'cannot disable the unknown filter "masterservices"; valid names: masterservice, discardcloudservice, ' +
        'nodeportisolation, forwardkubesvctraffic, servicetopology, ingressendpoints, inclusterconfig, ' +
        'serviceenvupdater, or * for all',
    );
  });

  it('stay off whatever the ConfigMap contains', () => {
    const filters = filtersWith('servicetopology');
    filters.configure(new Map([['servicetopology', { added: ['traefik'], removed: [] }]]));
    expect(filters.chainFor('traefik', ENDPOINTS, 'list').id).toBe('');
  });
});

describe('configure', () => {
  const added = { added: ['agent'], removed: [] };

  it('adds components and removes default components', () => {
    const filters = filtersWith();
    filters.configure(new Map([['servicetopology', { added: ['traefik'], removed: ['coredns'] }]]));
    expect(filters.chainFor('traefik', ENDPOINT_SLICES, 'watch').id).toBe('servicetopology');
    expect(filters.chainFor('coredns', ENDPOINT_SLICES, 'watch').id).toBe('');
    expect(filters.chainFor('kube-proxy', ENDPOINT_SLICES, 'watch').id).toContain('servicetopology');
  });

  it('keeps the order of the filters, in whatever order they are configured', () => {
    const filters = filtersWith();
    const names = ['ingressendpoints', 'servicetopology', 'forwardkubesvctraffic'];
    filters.configure(new Map(names.map((name) => [name, added])));
    expect(filters.chainFor('agent', ENDPOINTS, 'get').id).toBe(
      'forwardkubesvctraffic,servicetopology,ingressendpoints',
    );
  });

  it('calls listeners after a change that makes a difference, and returns to the defaults', () => {
    const filters = filtersWith('servicetopology');
    const notified: string[] = [];
    filters.subscribe((cause) => notified.push(`${cause}: ${filters.chainFor('agent', SERVICES, 'get').id}`));
    filters.configure(new Map([['masterservice', added]]), '1');
    filters.configure(new Map([['masterservice', added]]), '2');
    filters.configure(new Map([['masterservice', { added: ['agent', 'kubelet'], removed: [] }]]), '3');
    filters.configure(
      new Map([
        ['masterservice', added],
        ['servicetopology', added],
      ]),
      '4',
    );
    filters.configure(new Map(), '5');
    expect(notified).toEqual(['1: masterservice', '5: ']);
  });
});
