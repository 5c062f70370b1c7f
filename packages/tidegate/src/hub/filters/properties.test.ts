/** Properties of every chain, checked with random clusters and random changes. */

import {
  ENDPOINT_SLICES,
  ENDPOINTS,
  type EndpointSlice,
  type Endpoints,
  type KubeObject,
  Metrics,
  SERVICES,
  silentLogger,
} from '@tidegate/kube';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  EDGE_APPLICATION_LABEL,
  NODE_PORT_LISTEN_ANNOTATION,
  SERVICE_TOPOLOGY_ANNOTATION,
  TOPOLOGY_KEYS_ANNOTATION,
} from '../../api/index.ts';
import { visible } from '../../scope/index.ts';
import { allFilters } from './all.ts';
import { Filters } from './filters.ts';
import { contextOf, type TestContext } from './testing/context.ts';
import { endpoints, nodeGroup, nodePool, service, slice } from './testing/objects.ts';

const NODES = ['n1', 'n2', 'n3', 'n4'];
const CLIENT = 'n1';
const SERVICE_NAMES = ['s1', 's2'];

const someNodes = fc.uniqueArray(fc.constantFrom(...NODES));
const aService = fc
  .record({
    name: fc.constantFrom(...SERVICE_NAMES),
    annotations: fc.constantFrom<Record<string, string>[]>(
      {},
      { [TOPOLOGY_KEYS_ANNOTATION]: 'kubernetes.io/hostname' },
      { [TOPOLOGY_KEYS_ANNOTATION]: 'openyurt.io/nodepool' },
      { [SERVICE_TOPOLOGY_ANNOTATION]: 'range-nodegroup' },
      { [NODE_PORT_LISTEN_ANNOTATION]: 'p' },
      { [NODE_PORT_LISTEN_ANNOTATION]: '*,-g' },
    ),
    labels: fc.constantFrom<Record<string, string>[]>({}, { [EDGE_APPLICATION_LABEL]: 'app' }),
    type: fc.constantFrom('ClusterIP', 'NodePort'),
  })
  .map(({ name, ...rest }) => service(name, rest));
const aPool = fc.tuple(fc.constantFrom('p', 'q'), someNodes).map(([name, nodes]) => nodePool(name, nodes));
const aGroup = fc.tuple(fc.constantFrom('g', 'h'), someNodes).map(([name, nodes]) => nodeGroup(name, nodes));
/** Mostly changes of pools: nodes that move are the most difficult case. */
const aChange = fc.record({
  object: fc.oneof(
    { weight: 1, arbitrary: aService },
    { weight: 2, arbitrary: aPool },
    { weight: 2, arbitrary: aGroup },
  ),
  gone: fc.boolean(),
});
/** All Services exist at first. */
const someServices = fc.tuple(...SERVICE_NAMES.map((name) => aService.map((some) => named(some, name))));
const named = (object: KubeObject, name: string): KubeObject => ({
  ...object,
  metadata: { ...object.metadata, name },
});

const nodesOfEndpoints = fc.array(fc.option(fc.constantFrom(...NODES), { nil: undefined }));
const endpointObject = fc
  .tuple(fc.constantFrom(...SERVICE_NAMES, 'ghost'), nodesOfEndpoints, fc.boolean())
  .map(([name, nodes, old]) => (old ? endpoints(name, nodes) : slice(name, nodes)));

function setUp(services: readonly KubeObject[]) {
  const cluster = contextOf(services, { nodeName: CLIENT });
  const filters = new Filters({
    filters: allFilters({ log: silentLogger, metrics: new Metrics() }),
    context: cluster.context,
    disabled: [],
  });
  return { cluster, filters };
}

function change({ services, nodePools, nodeGroups }: TestContext, object: KubeObject, gone: boolean): void {
  const view = { Service: services, NodePool: nodePools, NodeGroup: nodeGroups }[object.kind]!;
  const { namespace, name } = object.metadata;
  const key = namespace === undefined ? name! : `${namespace}/${name}`;
  if (!gone) view.put(object);
  else if (view.get(key) !== undefined) view.delete(key);
}

const resourceOf = ({ kind }: KubeObject) =>
  ({ Service: SERVICES, Endpoints: ENDPOINTS, EndpointSlice: ENDPOINT_SLICES })[kind]!;

const nodesShown = (object: KubeObject | undefined): (string | undefined)[] =>
  object?.kind === 'Endpoints'
    ? ((object as Endpoints).subsets ?? []).flatMap(({ addresses = [] }) =>
        addresses.map(({ nodeName }) => nodeName),
      )
    : ((object as EndpointSlice | undefined)?.endpoints ?? []).map(({ nodeName }) => nodeName);

describe('every chain', () => {
  it('shows exactly the endpoints that the scope engine allows', () => {
    fc.assert(
      fc.property(
        someServices,
        fc.array(aChange, { maxLength: 12 }),
        endpointObject,
        fc.constantFrom('kube-proxy', 'coredns', 'tidegate-router', 'nginx-ingress-controller'),
        (services, changes, object, component) => {
          const { cluster, filters } = setUp(services);
          for (const { object: changed, gone } of changes) change(cluster, changed, gone);
          const chain = filters.chainFor(component, resourceOf(object), 'watch');
          const name = object.metadata.labels?.['kubernetes.io/service-name'] ?? object.metadata.name;
          const { context } = cluster;
          const allowed = nodesShown(object).filter(
            (nodeName) =>
              visible({
                membership: context.membership,
                service: context.service(`shop/${name}`),
                clientNode: CLIENT,
                ingressController: /router|ingress/.test(component),
                endpoint: { nodeName },
              }).visible,
          );
          expect(nodesShown(chain.apply(object))).toEqual(allowed);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('is idempotent, and changes its result only after a change of one of its dependencies', () => {
    fc.assert(
      fc.property(
        someServices,
        fc.array(aChange, { maxLength: 20 }),
        fc.oneof(endpointObject, aService),
        fc.constantFrom('kube-proxy', 'tidegate-router', 'coredns'),
        (services, changes, object, component) => {
          const { cluster, filters } = setUp(services);
          const chain = filters.chainFor(component, resourceOf(object), 'watch');
          let outcome = chain.apply(object);
          let dependencies = chain.dependsOn(object);
          let notified = new Set<string>();
          cluster.context.subscribe((changed) => {
            notified = new Set([...notified, ...changed]);
          });
          for (const { object: changed, gone } of changes) {
            notified = new Set();
            change(cluster, changed, gone);
            const after = chain.apply(object);
            if (!dependencies.some((each) => notified.has(each))) expect(after).toEqual(outcome);
            if (after !== undefined) expect(chain.apply(after)).toEqual(after);
            outcome = after;
            dependencies = chain.dependsOn(object);
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});
