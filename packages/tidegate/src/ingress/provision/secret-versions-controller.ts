import { isDeepStrictEqual } from 'node:util';
import {
  Applier,
  Controller,
  isBeingDeleted,
  isConflict,
  isNotFound,
  keyOf,
  type ReconcileResult,
  ROLES,
  type Role,
} from '@tidegate/kube';
import { L7_ROUTERS, type L7Router, ROUTER_LABEL, SECRET_VERSIONS_FIELD_MANAGER } from '../../api/index.ts';
import { isOwnProgram } from '../classes/index.ts';
import type { IngressContext } from '../context.ts';
import { type SecretVersions, secretVersions } from '../secret-versions.ts';
import { workloadName } from './identity.ts';
import { SecretMetadata } from './secret-metadata.ts';

/** Minimum interval between writes for one router. A renewal of many certificates is a few writes. */
const PACE_MS = 500;
/** How often a namespace that refuses access is asked again. */
const REFUSED_RETRY_MS = 30_000;

const SECRET_INDEX = 'ingress/role-by-secret';
const NAMESPACE_INDEX = 'ingress/role-by-namespace';
const ROUTER_INDEX = 'ingress/role-by-router';

/**
 * Publishes the versions of the Secrets that a router may read in the status of its L7Router (`../secret-versions.ts`). The
 * Roles of the router, which secret-access.ts maintains, are the list of these Secrets. So a router is also notified when it
 * gets or loses access.
 */
export function secretVersionsController(context: IngressContext): Controller {
  const { client, informers, clock } = context;
  const routers = informers.for(L7_ROUTERS);
  const roles = informers.for(ROLES, { labelSelector: ROUTER_LABEL });
  roles.addIndex(SECRET_INDEX, (role) => namesIn(role).map((name) => `${role.metadata.namespace}/${name}`));
  roles.addIndex(NAMESPACE_INDEX, ({ metadata }) => [`${metadata.namespace}`]);
  roles.addIndex(ROUTER_INDEX, routerOf);
  const applier = new Applier(client, SECRET_VERSIONS_FIELD_MANAGER);
  const writtenAt = new Map<string, number>();
  const secrets = new SecretMetadata({ client, informers, clock: context.clock }, (namespace, secret) => {
    const concerned =
      secret === undefined
        ? roles.cache.byIndex(NAMESPACE_INDEX, namespace)
        : roles.cache.byIndex(SECRET_INDEX, keyOf(secret));
    for (const name of concerned.flatMap(routerOf)) controller.enqueue(name);
  });

  async function reconcile(name: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const router = routers.cache.get(name);
    if (router === undefined || isBeingDeleted(router) || !isOwnProgram(router.spec.driver)) {
      writtenAt.delete(name);
      return undefined;
    }
    const own = roles.cache.byIndex(ROUTER_INDEX, name).filter(isRoleOf(router));
    const namespaces = new Set(own.map(({ metadata }) => `${metadata.namespace}`));
    // Versions from a part of the Secrets would make the router read all of the others again.
    if (![...namespaces].map((namespace) => secrets.follow(namespace)).every(Boolean)) return undefined;
    const versions = versionsOf(own);
    if (isDeepStrictEqual(router.status?.secretVersions ?? {}, versions)) return again(namespaces);
    const wait = (writtenAt.get(name) ?? -PACE_MS) + PACE_MS - clock.monotonic();
    if (wait > 0) return { requeueAfter: wait };
    writtenAt.set(name, clock.monotonic());
    await write(router, versions, signal);
    return again(namespaces);
  }

  const again = (namespaces: ReadonlySet<string>): ReconcileResult | undefined =>
    [...namespaces].some((namespace) => secrets.isRefused(namespace))
      ? { requeueAfter: REFUSED_RETRY_MS }
      : undefined;

  function versionsOf(own: readonly Role[]): SecretVersions {
    const versions = new Map<string, string | undefined>();
    for (const role of own) {
      const namespace = `${role.metadata.namespace}`;
      for (const name of namesIn(role))
        versions.set(`${namespace}/${name}`, secrets.versionOf(namespace, name));
    }
    return secretVersions(versions);
  }

  async function write(router: L7Router, versions: SecretVersions, signal: AbortSignal): Promise<void> {
    const { apiVersion, kind, metadata } = router;
    const status = Object.keys(versions).length === 0 ? {} : { secretVersions: versions };
    const object = { apiVersion, kind, metadata: { name: metadata.name }, status };
    try {
      await applier.applyStatus(object, { resource: L7_ROUTERS, signal });
    } catch (error) {
      // The change that caused the conflict enqueues the router again.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }

  const controller = new Controller({
    ...context,
    name: 'ingress-secret-versions',
    reconcile,
    concurrency: 2,
  })
    .watch(
      routers,
      undefined,
      (old, router) => !isDeepStrictEqual(old.status?.secretVersions, router.status?.secretVersions),
    )
    .watch(roles, routerOf);
  roles.addHandler({
    onDelete: ({ metadata }) => {
      const namespace = `${metadata.namespace}`;
      if (roles.cache.byIndex(NAMESPACE_INDEX, namespace).length === 0) secrets.unfollow(namespace);
    },
  });
  return controller;
}

const routerOf = ({ metadata }: Role): string[] => {
  const owner = metadata.ownerReferences?.find(({ kind }) => kind === 'L7Router');
  return owner === undefined ? [] : [owner.name];
};

/** The label and the owner alone prove nothing: every user that may create Roles can set them. */
const isRoleOf =
  ({ metadata: { name, uid } }: L7Router) =>
  ({ metadata }: Role): boolean =>
    metadata.name === workloadName(`${name}`) &&
    (metadata.ownerReferences ?? []).some((owner) => owner.uid === uid);

/** Names of the Secrets that the Role lets the router read. */
const namesIn = ({ rules = [] }: Role): string[] =>
  (rules ?? []).flatMap(({ resources = [], resourceNames = [] }) =>
    resources.includes('secrets') ? resourceNames : [],
  );
