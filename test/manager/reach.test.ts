/**
 * What each ServiceAccount of deploy/ can reach. The lists below are complete: a permission that is added to deploy/ has to
 * be added here too, and it shows in the review what it makes possible.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { type Access, accessOf, accountsOf, everythingOf, type RbacObject } from './reach.ts';

const objectsIn = (file: string): RbacObject[] =>
  parseAllDocuments(readFileSync(join(import.meta.dirname, '../../deploy', file), 'utf8')).map(
    (document) => document.toJS() as RbacObject,
  );

const baseWithout = (...left: string[]): RbacObject[] =>
  readdirSync(join(import.meta.dirname, '../../deploy/base'))
    .filter((file) => !['kustomization.yaml', 'hub.yaml', ...left].includes(file))
    .flatMap((file) => objectsIn(`base/${file}`));
const INSTALLED = baseWithout();
/** Before Kubernetes 1.30. */
const INSTALLED_BEFORE = baseWithout('webhooks.yaml');
const ACCOUNTS = ['admission', 'pools', 'routers', 'apps'].map((part) => `tidegate-system/tidegate-${part}`);
const ROUTER_NAMESPACES = ['ingress-nginx', 'tidegate-routers'];

const reachOf = (account: string, objects = INSTALLED): Access[] => accessOf(objects, account);
const textOf = ({ scope, verb, resource, name }: Access): string =>
  `${scope}: ${verb} ${resource}${name === undefined ? '' : `/${name}`}`;
/** Everything but reading in the whole cluster, which the next lists contain. */
const writesOf = (account: string): string[] =>
  reachOf(`tidegate-system/tidegate-${account}`)
    .filter(({ verb, scope }) => scope !== '*' || !['get', 'list', 'watch'].includes(verb))
    .map(textOf)
    .toSorted();
const readsOf = (account: string): string[] =>
  [
    ...new Set(
      reachOf(`tidegate-system/tidegate-${account}`)
        .filter(({ verb, scope }) => scope === '*' && ['get', 'list', 'watch'].includes(verb))
        .map(({ resource, name }) => (name === undefined ? resource : `${resource}/${name}`)),
    ),
  ].toSorted();

describe('every account', () => {
  const all = (wanted: (access: Access) => boolean): string[] =>
    ACCOUNTS.flatMap((account) =>
      reachOf(account)
        .filter(wanted)
        .map((access) => `${account} ${textOf(access)}`),
    );

  it('has at least one permission, so that the computation finds them', () => {
    for (const account of ACCOUNTS) expect(reachOf(account).length).toBeGreaterThan(5);
  });

  it('controls no other account, and not the cluster', () => {
    for (const account of ACCOUNTS) {
      expect(everythingOf(INSTALLED, account)).toEqual([]);
      expect(accountsOf(INSTALLED, account)).toEqual([account]);
    }
  });

  it('controls the cluster if one of the safeguards is missing, so that the computation finds them', () => {
    const [admission = '', , routers = ''] = ACCOUNTS;
    for (const kind of ['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding'])
      expect(
        everythingOf(
          INSTALLED.filter((object) => object.kind !== kind),
          admission,
        ),
      ).toContain(
        `${admission} can patch admissionregistration.k8s.io/mutatingwebhookconfigurations, and so see and change every request`,
      );
    const isNamespace = ({ kind, metadata }: RbacObject) =>
      kind === 'Namespace' && metadata.name === 'ingress-nginx';
    expect(
      everythingOf(
        INSTALLED.filter((object) => !isNamespace(object)),
        routers,
      ),
    ).toEqual([`${routers} can run privileged pods in ingress-nginx`]);
    const powerful = { kind: 'ServiceAccount', metadata: { name: 'powerful', namespace: 'ingress-nginx' } };
    const binding = {
      kind: 'ClusterRoleBinding',
      metadata: { name: 'powerful' },
      roleRef: { kind: 'ClusterRole', name: 'tidegate-certificates' },
      subjects: [{ kind: 'ServiceAccount', ...powerful.metadata }],
    };
    expect(everythingOf([...INSTALLED, powerful, binding], routers)).toEqual([
      'ingress-nginx/powerful can read all Secrets',
    ]);
  });

  it('cannot write webhook configurations before Kubernetes 1.30, where nothing limits the fields', () => {
    const old = [...INSTALLED_BEFORE, ...objectsIn('webhooks-before-1.30.yaml')];
    for (const account of ACCOUNTS) expect(everythingOf(old, account)).toEqual([]);
  });

  it('reads no Secret but those that it names', () => {
    expect(all(({ resource, name }) => resource === 'secrets' && name === undefined)).toEqual([]);
  });

  it('creates nothing that runs, and uses no ServiceAccount, outside of the namespaces of routers', () => {
    const runs = [
      'pods',
      'apps/deployments',
      'apps/daemonsets',
      'apps/statefulsets',
      'apps/replicasets',
      'batch/jobs',
    ];
    const creates = all(
      ({ resource, verb, scope }) =>
        [
          ...runs,
          'serviceaccounts',
          'serviceaccounts/token',
          'pods/exec',
          'pods/ephemeralcontainers',
        ].includes(resource) &&
        !['get', 'list', 'watch'].includes(verb) &&
        !ROUTER_NAMESPACES.includes(scope),
    );
    expect(creates).toEqual([]);
  });

  it('cannot gain permissions: no wildcards, no escalate, bind or impersonate', () => {
    expect(
      all(
        ({ resource, verb }) =>
          resource.includes('*') || verb === '*' || ['escalate', 'bind', 'impersonate'].includes(verb),
      ),
    ).toEqual([]);
  });

  it('can neither change nor delete roles and bindings', () => {
    const changes = all(
      ({ resource, verb }) =>
        resource.startsWith('rbac.authorization.k8s.io/') &&
        !['get', 'list', 'watch', 'create'].includes(verb),
    );
    expect(changes).toEqual([]);
  });
});

describe('the account of admission', () => {
  it('writes its own Secret, and two fields of its own configurations', () => {
    expect(writesOf('admission')).toMatchInlineSnapshot(`
      [
        "*: create authorization.k8s.io/subjectaccessreviews",
        "*: patch admissionregistration.k8s.io/mutatingwebhookconfigurations/tidegate",
        "*: patch admissionregistration.k8s.io/validatingwebhookconfigurations/tidegate",
        "kube-node-lease: get coordination.k8s.io/leases",
        "tidegate-system: get secrets/tidegate-webhook",
        "tidegate-system: update secrets/tidegate-webhook",
      ]
    `);
    expect(readsOf('admission')).toMatchInlineSnapshot(`
      [
        "admissionregistration.k8s.io/mutatingwebhookconfigurations/tidegate",
        "admissionregistration.k8s.io/validatingwebhookconfigurations/tidegate",
        "apps.kubeedge.io/edgeapplications",
        "apps.kubeedge.io/nodegroups",
        "apps.openyurt.io/nodepools",
        "apps.openyurt.io/yurtappdaemons",
        "apps.openyurt.io/yurtappoverriders",
        "apps.openyurt.io/yurtappsets",
        "apps.openyurt.io/yurtingresses",
        "namespaces/tidegate-routers",
        "namespaces/tidegate-system",
        "networking.k8s.io/ingressclasses",
        "networking.k8s.io/ingresses",
        "networking.tidegate.io/clusterroutepolicies",
        "networking.tidegate.io/hostclaims",
        "networking.tidegate.io/ingressclassparameters",
        "networking.tidegate.io/ingressclasspolicies",
        "networking.tidegate.io/l7routers",
        "networking.tidegate.io/routepolicies",
        "networking.tidegate.io/routerprovisioners",
        "nodes",
        "services",
      ]
    `);
  });
});

describe('the account of pools', () => {
  it('changes nodes and pools, evicts pods, and approves serving certificates', () => {
    expect(writesOf('pools')).toMatchInlineSnapshot(`
      [
        "*: approve certificates.k8s.io/signers/kubernetes.io/kubelet-serving",
        "*: create events",
        "*: create pods/eviction",
        "*: patch apps.kubeedge.io/nodegroups",
        "*: patch apps.kubeedge.io/nodegroups/status",
        "*: patch apps.openyurt.io/nodepools",
        "*: patch apps.openyurt.io/nodepools/status",
        "*: patch events",
        "*: patch nodes",
        "*: update certificates.k8s.io/certificatesigningrequests/approval",
        "default: list services/kubernetes",
        "default: watch services/kubernetes",
        "tidegate-system: get coordination.k8s.io/leases/tidegate-pools",
        "tidegate-system: update coordination.k8s.io/leases/tidegate-pools",
      ]
    `);
    expect(readsOf('pools')).toMatchInlineSnapshot(`
      [
        "apps.kubeedge.io/nodegroups",
        "apps.openyurt.io/nodepools",
        "certificates.k8s.io/certificatesigningrequests",
        "namespaces/tidegate-routers",
        "namespaces/tidegate-system",
        "nodes",
        "pods",
      ]
    `);
  });
});

describe('the account of routers', () => {
  it('manages workloads in the namespaces of routers, and classes, L7Routers and their permissions', () => {
    expect(writesOf('routers')).toMatchInlineSnapshot(`
      [
        "*: create events",
        "*: create networking.k8s.io/ingressclasses",
        "*: create networking.tidegate.io/hostclaims",
        "*: create networking.tidegate.io/l7routers",
        "*: create rbac.authorization.k8s.io/clusterrolebindings",
        "*: create rbac.authorization.k8s.io/clusterroles",
        "*: delete networking.k8s.io/ingressclasses",
        "*: delete networking.tidegate.io/hostclaims",
        "*: delete networking.tidegate.io/l7routers",
        "*: patch apps.openyurt.io/yurtingresses",
        "*: patch apps.openyurt.io/yurtingresses/status",
        "*: patch events",
        "*: patch networking.k8s.io/ingresses/status",
        "*: patch networking.tidegate.io/clusterroutepolicies/status",
        "*: patch networking.tidegate.io/l7routers",
        "*: patch networking.tidegate.io/l7routers/status",
        "*: patch networking.tidegate.io/routepolicies/status",
        "*: update networking.k8s.io/ingressclasses",
        "*: update networking.tidegate.io/hostclaims",
        "*: update networking.tidegate.io/l7routers",
        "*: update networking.tidegate.io/l7routers/finalizers",
        "ingress-nginx: create apps/deployments",
        "ingress-nginx: create configmaps",
        "ingress-nginx: create policy/poddisruptionbudgets",
        "ingress-nginx: create serviceaccounts",
        "ingress-nginx: create services",
        "ingress-nginx: delete apps/deployments",
        "ingress-nginx: delete configmaps",
        "ingress-nginx: delete policy/poddisruptionbudgets",
        "ingress-nginx: delete serviceaccounts",
        "ingress-nginx: delete services",
        "ingress-nginx: list apps/deployments",
        "ingress-nginx: list configmaps",
        "ingress-nginx: list pods",
        "ingress-nginx: list policy/poddisruptionbudgets",
        "ingress-nginx: list serviceaccounts",
        "ingress-nginx: list services",
        "ingress-nginx: patch apps/deployments",
        "ingress-nginx: patch configmaps",
        "ingress-nginx: patch policy/poddisruptionbudgets",
        "ingress-nginx: patch serviceaccounts",
        "ingress-nginx: patch services",
        "ingress-nginx: watch apps/deployments",
        "ingress-nginx: watch configmaps",
        "ingress-nginx: watch pods",
        "ingress-nginx: watch policy/poddisruptionbudgets",
        "ingress-nginx: watch serviceaccounts",
        "ingress-nginx: watch services",
        "tidegate-routers: create apps/deployments",
        "tidegate-routers: create configmaps",
        "tidegate-routers: create policy/poddisruptionbudgets",
        "tidegate-routers: create serviceaccounts",
        "tidegate-routers: create services",
        "tidegate-routers: delete apps/deployments",
        "tidegate-routers: delete configmaps",
        "tidegate-routers: delete policy/poddisruptionbudgets",
        "tidegate-routers: delete serviceaccounts",
        "tidegate-routers: delete services",
        "tidegate-routers: list apps/deployments",
        "tidegate-routers: list configmaps",
        "tidegate-routers: list pods",
        "tidegate-routers: list policy/poddisruptionbudgets",
        "tidegate-routers: list serviceaccounts",
        "tidegate-routers: list services",
        "tidegate-routers: patch apps/deployments",
        "tidegate-routers: patch configmaps",
        "tidegate-routers: patch policy/poddisruptionbudgets",
        "tidegate-routers: patch serviceaccounts",
        "tidegate-routers: patch services",
        "tidegate-routers: watch apps/deployments",
        "tidegate-routers: watch configmaps",
        "tidegate-routers: watch pods",
        "tidegate-routers: watch policy/poddisruptionbudgets",
        "tidegate-routers: watch serviceaccounts",
        "tidegate-routers: watch services",
        "tidegate-system: get coordination.k8s.io/leases/tidegate-routers",
        "tidegate-system: list configmaps",
        "tidegate-system: update coordination.k8s.io/leases/tidegate-routers",
        "tidegate-system: watch configmaps",
      ]
    `);
    expect(readsOf('routers')).toMatchInlineSnapshot(`
      [
        "apps.kubeedge.io/nodegroups",
        "apps.openyurt.io/nodepools",
        "apps.openyurt.io/yurtingresses",
        "discovery.k8s.io/endpointslices",
        "namespaces/ingress-nginx",
        "namespaces/tidegate-routers",
        "namespaces/tidegate-system",
        "networking.k8s.io/ingressclasses",
        "networking.k8s.io/ingresses",
        "networking.tidegate.io/clusterroutepolicies",
        "networking.tidegate.io/hostclaims",
        "networking.tidegate.io/ingressclassparameters",
        "networking.tidegate.io/ingressclasspolicies",
        "networking.tidegate.io/l7routers",
        "networking.tidegate.io/routepolicies",
        "networking.tidegate.io/routerprovisioners",
        "nodes",
        "rbac.authorization.k8s.io/clusterrolebindings",
        "rbac.authorization.k8s.io/clusterroles",
        "rbac.authorization.k8s.io/rolebindings",
        "rbac.authorization.k8s.io/roles",
        "services",
      ]
    `);
  });
});

describe('the account of apps', () => {
  it('changes EdgeApplications, and the status of the kinds of OpenYurt, until a namespace grants more', () => {
    expect(writesOf('apps')).toMatchInlineSnapshot(`
      [
        "*: create apps.kubeedge.io/edgeapplications",
        "*: create events",
        "*: patch apps.kubeedge.io/edgeapplications",
        "*: patch apps.kubeedge.io/edgeapplications/status",
        "*: patch apps.openyurt.io/yurtappdaemons/status",
        "*: patch apps.openyurt.io/yurtappsets/status",
        "*: patch events",
        "*: update apps.kubeedge.io/edgeapplications/finalizers",
        "*: update apps.openyurt.io/yurtappdaemons/finalizers",
        "*: update apps.openyurt.io/yurtappsets/finalizers",
        "tidegate-system: get coordination.k8s.io/leases/tidegate-apps",
        "tidegate-system: update coordination.k8s.io/leases/tidegate-apps",
      ]
    `);
    expect(readsOf('apps')).toMatchInlineSnapshot(`
      [
        "apiextensions.k8s.io/customresourcedefinitions",
        "apps.kubeedge.io/edgeapplications",
        "apps.kubeedge.io/nodegroups",
        "apps.openyurt.io/nodepools",
        "apps.openyurt.io/yurtappdaemons",
        "apps.openyurt.io/yurtappoverriders",
        "apps.openyurt.io/yurtappsets",
        "namespaces/tidegate-routers",
        "namespaces/tidegate-system",
        "nodes",
      ]
    `);
  });
});

describe('optional files', () => {
  it('all-namespaces.yaml is what makes two parts powerful', () => {
    const objects = [...INSTALLED, ...objectsIn('overlays/all-namespaces/all-namespaces.yaml')];
    expect(reachOf('tidegate-system/tidegate-routers', objects).map(textOf)).toContain('*: list secrets');
    expect(reachOf('tidegate-system/tidegate-apps', objects).map(textOf)).toContain(
      '*: create apps/deployments',
    );
    expect(reachOf('tidegate-system/tidegate-admission', objects)).toEqual(
      reachOf('tidegate-system/tidegate-admission'),
    );
  });

  it('ingress-nginx.yaml lets the part routers, and no other, use an account that reads all Secrets', () => {
    const objects = [...INSTALLED, ...objectsIn('overlays/ingress-nginx/ingress-nginx.yaml')];
    const nginx = 'tidegate-ingress-nginx/tidegate-ingress-nginx';
    for (const account of ACCOUNTS) {
      const isRouters = account.endsWith('/tidegate-routers');
      expect(accountsOf(objects, account)).toEqual(isRouters ? [nginx, account].toSorted() : [account]);
      expect(everythingOf(objects, account)).toEqual(isRouters ? [`${nginx} can read all Secrets`] : []);
    }
  });
});
