import {
  Controller,
  INGRESSES,
  type Ingress,
  isBeingDeleted,
  isForbidden,
  isNamespaceTerminating,
  type KubeObject,
  keyOf,
  type ReconcileResult,
  type Role,
  type RoleBinding,
} from '@tidegate/kube';
import { L7_ROUTERS, type L7Router, SYSTEM_NAMESPACE } from '../../api/index.ts';
import { classesOf, isOwnProgram, isWorkloadDriver } from '../classes/index.ts';
import { classNameOf, configMapsOfAnnotations, secretsOfAnnotations } from '../compile/index.ts';
import type { IngressContext } from '../context.ts';
import { writtenHost } from '../match/index.ts';
import type { HostName } from '../model.ts';
import { metadataFor, podsNameOf, workloadName, workloadOf } from './identity.ts';
import { PolicySecrets } from './policy-secrets.ts';
import type { ProvisionedObjects } from './provisioned-objects.ts';

const FORBIDDEN_RETRY_MS = 30_000;

/** The message for a namespace that has not bound the ClusterRole of deploy/base. */
const notGranted = (namespace: string): string =>
  `Routers cannot read the certificates, users and headers of namespace ${namespace}, because it has not granted that to Tidegate. Run: kubectl create rolebinding tidegate-certificates --namespace ${namespace} --clusterrole tidegate-certificates --serviceaccount ${SYSTEM_NAMESPACE}:tidegate-routers`;

const HOST_INDEX = 'ingress/tls-by-host';
const NAMESPACE_INDEX = 'ingress/tls-by-namespace';

/**
 * Lets each router read the Secrets and ConfigMaps that its Ingresses and their policies name, and no others: it maintains a Role with `resourceNames` and
 * a RoleBinding in every namespace that has such Secrets. The key is `router/namespace`. `granted` is called when a namespace
 * that refused this has allowed it.
 */
export function secretAccessController(
  context: IngressContext,
  provisioned: ProvisionedObjects,
  granted: (namespace: string) => void,
): Controller {
  const { informers, recorder } = context;
  const routers = informers.for(L7_ROUTERS);
  const ingresses = informers.for(INGRESSES);
  ingresses.addIndex(HOST_INDEX, (ingress) => (secretsOf(ingress).length === 0 ? [] : ruleHosts(ingress)));
  ingresses.addIndex(NAMESPACE_INDEX, (ingress) =>
    secretsOf(ingress).length === 0 ? [] : [`${ingress.metadata.namespace}`],
  );

  const policies = new PolicySecrets(informers);

  /** Namespaces whose Ingresses got an event, because the manager must not grant access to Secrets there. */
  const reported = new Set<string>();

  /** The namespace has not granted the permissions. No event announces it when it does. */
  function reportForbidden(namespace: string): ReconcileResult {
    if (!reported.has(namespace)) {
      reported.add(namespace);
      for (const ingress of ingresses.cache.byIndex(NAMESPACE_INDEX, namespace))
        recorder.warning(ingress, 'CertificatesNotReadable', notGranted(namespace));
    }
    return { requeueAfter: FORBIDDEN_RETRY_MS };
  }

  async function reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const [name = '', namespace = ''] = key.split('/');
    const router = routers.cache.get(name);
    if (router === undefined || isBeingDeleted(router) || !isWorkloadDriver(router.spec.driver))
      return undefined;
    // Other programs have permission to read all Secrets.
    const secrets = isOwnProgram(router.spec.driver) ? secretsFor(router, namespace) : [];
    if (secrets.length === 0) {
      for (const kind of ['RoleBinding', 'Role']) {
        const object = provisioned.get(kind, `${namespace}/${workloadName(name)}`);
        if (object !== undefined) await provisioned.remove(object, signal);
      }
      return undefined;
    }
    try {
      for (const object of accessTo(router, namespace, secrets)) await provisioned.apply(object, signal);
      if (reported.delete(namespace)) granted(namespace);
    } catch (error) {
      if (isForbidden(error)) return reportForbidden(namespace);
      if (!isNamespaceTerminating(error)) throw error;
    }
    return undefined;
  }

  function secretsFor(router: L7Router, namespace: string): string[] {
    const classNames = classesOf(router);
    const hosts = router.spec.hosts && new Set(router.spec.hosts);
    const departing = new Set(router.spec.departing);
    const isServed = (ingress: Ingress): boolean =>
      (classNames.includes(classNameOf(ingress) ?? '') || departing.has(keyOf(ingress))) &&
      isOn(ingress, hosts);
    const concerned = ingresses.cache.byIndex(NAMESPACE_INDEX, namespace).filter(isServed);
    const inherited = policies.secretsFor(router, namespace, isServed);
    return [...new Set([...concerned.flatMap(secretsOf), ...inherited])].sort();
  }

  const controller = new Controller({
    ...context,
    name: 'ingress-secret-access',
    reconcile,
    concurrency: 2,
  }).watch(
    ingresses,
    (ingress) => {
      const namespaces = new Set(policies.namespacesFor(ingress));
      if (secretsOf(ingress).length > 0) namespaces.add(`${ingress.metadata.namespace}`);
      if (namespaces.size === 0) return [];
      const className = classNameOf(ingress) ?? '';
      return routers.cache
        .list()
        .filter((router) => classesOf(router).includes(className))
        .flatMap((router) => [...namespaces].map((namespace) => `${router.metadata.name}/${namespace}`));
    },
    (old, ingress) =>
      old.metadata.generation !== ingress.metadata.generation ||
      classNameOf(old) !== classNameOf(ingress) ||
      secretsOf(old).join() !== secretsOf(ingress).join(),
  );
  provisioned.watchedBy(controller, ['Role', 'RoleBinding'], accessKeyOf);
  const enqueueFor = (router: L7Router, concerned: Iterable<Ingress>): void => {
    for (const ingress of concerned) {
      controller.enqueue(keyFor(router, ingress));
      enqueueIn(router, policies.namespacesFor(ingress));
    }
  };
  const enqueueIn = (router: L7Router, namespaces: Iterable<string>): void => {
    for (const namespace of namespaces) controller.enqueue(`${router.metadata.name}/${namespace}`);
  };
  const enqueueAll = (router: L7Router): void => {
    enqueueFor(
      router,
      ingresses.cache.list().filter((ingress) => secretsOf(ingress).length > 0),
    );
    enqueueIn(router, policies.namespaces());
  };
  policies.onChange((namespaces) => {
    for (const router of routers.cache.list()) enqueueIn(router, namespaces);
  });
  routers.addHandler({
    onAdd: enqueueAll,
    onUpdate: (old, router) => {
      if (old.metadata.generation === router.metadata.generation) return;
      const changed = changedHosts(old.spec.hosts, router.spec.hosts);
      if (changed === undefined || classesOf(old).join() !== classesOf(router).join()) enqueueAll(router);
      else for (const host of changed) enqueueFor(router, ingresses.cache.byIndex(HOST_INDEX, host));
      if (changed !== undefined && changed.length > 0) enqueueIn(router, policies.namespaces());
      for (const key of new Set([...(old.spec.departing ?? []), ...(router.spec.departing ?? [])]))
        enqueueFor(router, [ingresses.cache.get(key) ?? []].flat());
    },
  });
  return controller;
}

const keyFor = (router: L7Router, { metadata }: Ingress): string =>
  `${router.metadata.name}/${metadata.namespace}`;

function accessKeyOf({ metadata }: KubeObject): string[] {
  const router = metadata.ownerReferences?.find(({ kind }) => kind === 'L7Router')?.name;
  return router === undefined ? [] : [`${router}/${metadata.namespace}`];
}

/** Hosts that were added or removed. Undefined if any host may have been, because one of the routers has no list. */
function changedHosts(before: readonly HostName[] | undefined, after: readonly HostName[] | undefined) {
  if (before === undefined || after === undefined) return before === after ? [] : undefined;
  const [were, are] = [new Set(before), new Set(after)];
  return [...before.filter((host) => !are.has(host)), ...after.filter((host) => !were.has(host))];
}

/** Before the name of a ConfigMap, in a list that has names of Secrets too. No name has a slash. */
const CONFIG_MAP = 'configmaps/';

/** Names of the Secrets with certificates, users and authorities, and of ConfigMaps. All of them are in the namespace of the Ingress. */
function secretsOf(ingress: Ingress): string[] {
  const tls = (ingress.spec?.tls ?? []).flatMap(({ secretName }) =>
    secretName === undefined || secretName === '' ? [] : [secretName],
  );
  const nameOf = (key: string): string => key.slice(key.indexOf('/') + 1);
  return [
    ...tls,
    ...secretsOfAnnotations(ingress).map(nameOf),
    ...configMapsOfAnnotations(ingress).map((key) => CONFIG_MAP + nameOf(key)),
  ];
}

/** Hosts of the rules. Includes the empty name for rules, or a default backend, for all hosts. */
function ruleHosts({ spec }: Ingress): HostName[] {
  const { rules = [] } = spec ?? {};
  const hosts = rules.map(({ host = '' }) => writtenHost(host)).filter((host) => host !== undefined);
  return rules.length === 0 ? [''] : [...new Set(hosts)];
}

/**
 * Whether a router with these hosts may need a Secret of the Ingress. A certificate for a wildcard, or for a host that
 * only `tls` names, can be used by any router.
 */
function isOn(ingress: Ingress, hosts: ReadonlySet<HostName> | undefined): boolean {
  if (hosts === undefined) return true;
  const named = ruleHosts(ingress);
  if (named.some((host) => host === '' || hosts.has(host))) return true;
  return (ingress.spec?.tls ?? []).some(({ hosts: shown = [] }) =>
    shown.some((host) => host.startsWith('*.') || !named.includes(writtenHost(host) ?? '')),
  );
}

/** Lists without names would allow all of them. */
function rulesFor(names: readonly string[]): NonNullable<Role['rules']> {
  const named = {
    secrets: names.filter((name) => !name.startsWith(CONFIG_MAP)),
    configmaps: names.flatMap((name) => (name.startsWith(CONFIG_MAP) ? name.slice(CONFIG_MAP.length) : [])),
  };
  return Object.entries(named).flatMap(([resource, resourceNames]) =>
    resourceNames.length === 0
      ? []
      : [{ apiGroups: [''], resources: [resource], resourceNames, verbs: ['list', 'watch'] }],
  );
}

function accessTo(router: L7Router, namespace: string, names: readonly string[]): [Role, RoleBinding] {
  const name = workloadName(`${router.metadata.name}`);
  const metadata = { ...metadataFor(router, name), namespace };
  return [
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata,
      rules: rulesFor(names),
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
      subjects: [
        { kind: 'ServiceAccount', name: podsNameOf(router), namespace: workloadOf(router).namespace },
      ],
    },
  ];
}
