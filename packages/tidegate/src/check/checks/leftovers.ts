/** What other projects, or an earlier installation, have left behind. */
import {
  INGRESS_CLASSES,
  type KubeClient,
  type KubeObject,
  NODES,
  type Resource,
  SERVICES,
} from '@tidegate/kube';
import {
  customObjects,
  foreignControllers,
  occupiedNamespaces,
  ROUTER_NAMESPACES,
} from '../../install/index.ts';
import { type Check, error, type Finding, ok, warning } from '../check.ts';

export const leftovers: Check = {
  name: 'leftovers',
  title: 'Leftovers of other projects',
  when: 'always',
  async run({ client, now, signal }) {
    const findings: Finding[] = [
      ...(await foreignControllers(client, signal)).map((text) => {
        const [what = '', todo = ''] = text.split(': ');
        return error(what, todo);
      }),
      ...(await occupiedNamespaces(client, ROUTER_NAMESPACES, signal)).map(({ text, todo }) =>
        warning(text, todo),
      ),
      ...(await deadWebhooks(client, signal)),
      ...(await ingressNginxClasses(client, signal)),
      ...(await edgeNodes(client, signal)),
      ...(await stuckObjects(client, now(), signal)),
    ];
    return findings.length === 0 ? [ok('none of OpenYurt, KubeEdge and ingress-nginx')] : findings;
  },
};

interface Configuration extends KubeObject {
  webhooks?: { name: string; clientConfig: { service?: { namespace: string; name: string } } }[];
}

/** The webhooks of these projects block or delay changes if their Service is gone. */
const PROJECTS = /openyurt|yurt-|kubeedge|ingress-nginx/;

async function deadWebhooks(client: KubeClient, signal: AbortSignal): Promise<Finding[]> {
  const findings: Finding[] = [];
  const services = (await client.list(SERVICES, { signal })).items;
  for (const kind of ['validating', 'mutating']) {
    const resource: Resource<Configuration> = {
      group: 'admissionregistration.k8s.io',
      version: 'v1',
      resource: `${kind}webhookconfigurations`,
      namespaced: false,
    };
    for (const { metadata, webhooks = [] } of (await client.list(resource, { signal })).items) {
      if (!PROJECTS.test(metadata.name ?? '')) continue;
      const dead = webhooks.filter(({ clientConfig: { service } }) => {
        const isIt = (each: KubeObject): boolean =>
          each.metadata.namespace === service?.namespace && each.metadata.name === service?.name;
        return service !== undefined && !services.some(isIt);
      });
      if (dead.length > 0)
        findings.push(
          error(
            `the ${kind} webhook configuration ${metadata.name} names a Service that does not exist: ${dead[0]?.name}`,
            `kubectl delete ${kind}webhookconfiguration ${metadata.name}`,
          ),
        );
    }
  }
  return findings;
}

async function ingressNginxClasses(client: KubeClient, signal: AbortSignal): Promise<Finding[]> {
  const { items } = await client.list(INGRESS_CLASSES, { signal });
  return items
    .filter(({ spec }) => spec?.controller === 'k8s.io/ingress-nginx')
    .map(({ metadata }) =>
      warning(
        `IngressClass ${metadata.name} belongs to ingress-nginx: its Ingresses are not served by Tidegate`,
        'migrate them with tidegate convert, see docs/guides/migrate.md',
      ),
    );
}

/** The labels and taints with which OpenYurt and KubeEdge mark their nodes. */
async function edgeNodes(client: KubeClient, signal: AbortSignal): Promise<Finding[]> {
  const { items } = await client.list(NODES, { signal });
  const openYurt = items.filter(({ metadata }) => metadata.labels?.['openyurt.io/is-edge-worker'] === 'true');
  const kubeEdge = items.filter(({ status }) => /kubeedge/.test(status?.nodeInfo?.kubeletVersion ?? ''));
  const names = (nodes: readonly KubeObject[]): string =>
    nodes.map(({ metadata }) => metadata.name).join(', ');
  return [
    ...(openYurt.length > 0
      ? [
          warning(
            `nodes that OpenYurt has converted: ${names(openYurt)}`,
            'remove yurthub from them, see docs/guides/migrate.md',
          ),
        ]
      : []),
    ...(kubeEdge.length > 0
      ? [
          warning(
            `nodes with edgecore of KubeEdge: ${names(kubeEdge)}`,
            'edgecore does not work with a hub; join the nodes with a kubelet',
          ),
        ]
      : []),
  ];
}

const STUCK_MS = 300_000;

/** Objects that wait for a finalizer, for example after the manager was deleted before them. */
async function stuckObjects(client: KubeClient, now: number, signal: AbortSignal): Promise<Finding[]> {
  return (await customObjects(client, signal)).flatMap(({ kind, objects }) =>
    objects
      .filter(({ metadata }) => now - Date.parse(metadata.deletionTimestamp ?? '') > STUCK_MS)
      .map(({ metadata }) =>
        error(
          `${kind} ${metadata.name} has been waiting for its deletion since ${metadata.deletionTimestamp}`,
          `if the manager is ready, see its log; finalizers: ${metadata.finalizers?.join(', ')}`,
        ),
      ),
  );
}
