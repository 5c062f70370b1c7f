/** Faults for `tidegate check` to name, on a real cluster with pools `shop` and `depot`, hubs and front doors. */
import type { KubeObject } from '@tidegate/kube';
import type { Kubectl } from '../support/kubectl.ts';
import type { RealCluster } from './cluster/cluster.ts';
import { tidegate } from './cluster/install.ts';

interface Fault {
  name: string;
  /** The check that names it, the level, and the message. */
  check: string;
  level: 'warning' | 'error';
  message: RegExp;
  /** Puts the fault in. What it returns is passed to `mend`. */
  break(): Promise<unknown>;
  mend(undo: unknown): Promise<unknown>;
}

const SYSTEM = 'tidegate-system';

export function faults(clusterOf: () => RealCluster): Fault[] {
  const run: Kubectl['run'] = (args, input) => clusterOf().kubectl.run(args, input);
  const apply = (...objects: object[]): Promise<string> => clusterOf().kubectl.apply(...objects);
  const json = (args: string): Promise<KubeObject> => clusterOf().kubectl.json<KubeObject>(args);
  const install = async (): Promise<void> => {
    const { code, output } = await tidegate(clusterOf(), 'install', '--force-conflicts', '--timeout', '10m');
    if (code !== 0) throw new Error(output);
  };
  const scaled = (deployment: string, namespace: string, replicas: number): Promise<string> =>
    run(`-n ${namespace} scale deployment ${deployment} --replicas=${replicas}`);

  return [
    {
      name: 'a webhook Service without endpoints',
      check: 'webhook',
      level: 'error',
      message: /^the API server cannot call the webhook: .*no endpoints available/,
      break: () => run(`-n ${SYSTEM} patch service tidegate-webhook -p {"spec":{"selector":{"no":"pod"}}}`),
      mend: () =>
        run(
          `-n ${SYSTEM} patch service tidegate-webhook --type=json -p [{"op":"remove","path":"/spec/selector/no"}]`,
        ).then(install),
    },
    {
      name: 'a CA bundle that does not fit',
      check: 'webhook',
      level: 'error',
      message: /^the API server cannot call the webhook: .*x509/,
      break: async () => {
        const live = (await json('get validatingwebhookconfiguration tidegate')) as KubeObject & {
          webhooks: { clientConfig: { caBundle: string } }[];
        };
        const { readFile } = await import('node:fs/promises');
        const other = (await readFile(clusterOf().cloud.credentials.caFile)).toString('base64');
        for (const { clientConfig } of live.webhooks) clientConfig.caBundle = other;
        await run('replace -f -', JSON.stringify(live));
      },
      mend: install,
    },
    {
      name: 'webhooks that are not registered',
      check: 'webhook',
      level: 'error',
      message: /^the mutating webhook configuration tidegate does not exist$/,
      break: () => run('delete mutatingwebhookconfiguration tidegate'),
      mend: install,
    },
    {
      name: 'a missing CRD',
      check: 'objects',
      level: 'error',
      message: /^CustomResourceDefinition hostclaims\.networking\.tidegate\.io is missing$/,
      break: () => run('delete crd hostclaims.networking.tidegate.io'),
      mend: install,
    },
    {
      name: 'a missing permission',
      check: 'objects',
      level: 'error',
      message: /^ClusterRoleBinding tidegate-pools is missing$/,
      break: () => run('delete clusterrolebinding tidegate-pools'),
      mend: install,
    },
    {
      name: 'a Deployment that was changed',
      check: 'objects',
      level: 'warning',
      message: /^Deployment tidegate-system\/tidegate-apps was changed: spec\.replicas/,
      break: () => scaled('tidegate-apps', SYSTEM, 2),
      mend: install,
    },
    {
      name: 'a part of the manager that cannot start',
      check: 'manager',
      level: 'error',
      message: /^not ready: Deployment tidegate-apps \(pod .*(ErrImage|ImagePull)/,
      break: () => run(`-n ${SYSTEM} set image deployment/tidegate-apps manager=registry.invalid/none:1`),
      mend: install,
    },
    {
      name: 'a hub that is stopped',
      check: 'hubs',
      level: 'error',
      message: /^node depot-1 has not reached the API server for \d+ s$/,
      break: () => clusterOf().node('depot-1').hub.stop(),
      mend: () => clusterOf().node('depot-1').startHub(),
    },
    {
      name: 'a hub of an old version',
      check: 'hubs',
      level: 'warning',
      message: /^the hub of node shop-1 has version 0\.0\.7, which is more than one minor version older/,
      break: async () => {
        const before = (await json('get node shop-1')).metadata.annotations?.['hub.tidegate.io/version'];
        await run('annotate node shop-1 --overwrite hub.tidegate.io/version=0.0.7');
        return before;
      },
      mend: (before) => run(`annotate node shop-1 --overwrite hub.tidegate.io/version=${before}`),
    },
    {
      name: 'a node whose clock is wrong',
      check: 'clock',
      level: 'warning',
      message: /^the clock of node late-1 is 3\d\d\d s ahead of the API server$/,
      // The clock of the machine cannot be changed, so the lease is written as such a kubelet writes it.
      break: () =>
        apply({
          apiVersion: 'coordination.k8s.io/v1',
          kind: 'Lease',
          metadata: { name: 'late-1', namespace: 'kube-node-lease' },
          spec: {
            holderIdentity: 'late-1',
            renewTime: new Date(Date.now() + 3_600_000).toISOString().replace('Z', '000Z'),
          },
        }),
      mend: () => run('-n kube-node-lease delete lease late-1'),
    },
    {
      name: 'a front door that does not answer',
      check: 'front-doors',
      level: 'error',
      message: /^L7Router shop (does not answer at http|is not Ready)/,
      break: async () => {
        await scaled('tidegate-routers', SYSTEM, 0);
        await scaled('tidegate-router-shop', 'ingress-nginx', 0);
      },
      mend: install,
    },
    {
      name: 'a node in two pools',
      check: 'pools',
      level: 'warning',
      message: /^NodeGroup second: .*shop-1/,
      break: () =>
        apply(
          ...['first', 'second'].map((name) => ({
            apiVersion: 'apps.kubeedge.io/v1alpha1',
            kind: 'NodeGroup',
            metadata: { name },
            spec: { nodes: ['shop-1'] },
          })),
        ),
      mend: () => run('delete nodegroup first second'),
    },
    {
      name: 'a node in a pool that does not exist',
      check: 'pools',
      level: 'error',
      message: /^node cloud-1 has the label .*=nowhere, but NodePool nowhere does not exist$/,
      break: () => run('label node cloud-1 apps.openyurt.io/nodepool=nowhere'),
      mend: () => run('label node cloud-1 apps.openyurt.io/nodepool-'),
    },
    {
      name: 'a controller of OpenYurt',
      check: 'leftovers',
      level: 'error',
      message: /yurt-manager of OpenYurt is running/,
      break: () => run('-n kube-system create deployment yurt-manager --image=web:1'),
      mend: () => run('-n kube-system delete deployment yurt-manager'),
    },
    {
      name: 'a controller of KubeEdge',
      check: 'leftovers',
      level: 'error',
      message: /cloudcore of KubeEdge is running/,
      break: () => run('-n kube-system create deployment cloudcore --image=web:1'),
      mend: () => run('-n kube-system delete deployment cloudcore'),
    },
    {
      name: 'a class and a dead webhook of ingress-nginx',
      check: 'leftovers',
      level: 'error',
      message: /ingress-nginx-admission names a Service that does not exist/,
      break: () =>
        apply(
          {
            apiVersion: 'networking.k8s.io/v1',
            kind: 'IngressClass',
            metadata: { name: 'nginx' },
            spec: { controller: 'k8s.io/ingress-nginx' },
          },
          {
            apiVersion: 'admissionregistration.k8s.io/v1',
            kind: 'ValidatingWebhookConfiguration',
            metadata: { name: 'ingress-nginx-admission' },
            webhooks: [
              {
                name: 'validate.nginx.ingress.kubernetes.io',
                admissionReviewVersions: ['v1'],
                sideEffects: 'None',
                failurePolicy: 'Ignore',
                clientConfig: { service: { namespace: 'ingress-nginx', name: 'gone' } },
              },
            ],
          },
        ),
      mend: async () => {
        await run('delete ingressclass nginx');
        await run('delete validatingwebhookconfiguration ingress-nginx-admission');
      },
    },
  ];
}
