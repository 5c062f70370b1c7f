/**
 * The application kinds of OpenYurt. The manager creates their workloads with its own permissions, so their authors need the
 * permission to create them, as the authors of EdgeApplications do. Mistakes are found with the functions of the controller.
 */
import { isDeepStrictEqual } from 'node:util';
import { type Cache, isBeingDeleted, type KubeObject } from '@tidegate/kube';
import {
  type EdgeApplication,
  type NodePool,
  YURT_APP_DAEMONS,
  YURT_APP_OVERRIDERS,
  YURT_APP_SETS,
  type YurtAppOverrider,
} from '../../api/index.ts';
import { validateEdgeApplication } from '../../apps/index.ts';
import {
  applicationNameOf,
  applicationOf,
  baseWorkload,
  overriderFor,
  subjectOf,
  translate,
  type YurtApp,
} from '../../yurtapps/index.ts';
import type { AdmissionRequest, AdmissionResult, FieldProblem, UserInfo } from '../review.ts';
import type { AdmissionRule, Turn } from '../rule.ts';
import {
  authorOf,
  missingPermission,
  type PermissionSources,
  textOfTarget,
  unlessUnreachable,
} from './author-permissions.ts';
import { changedSpec } from './changed-spec.ts';

/** The caches that the rules read. */
export interface YurtAppSources {
  readonly permissions: PermissionSources;
  readonly pools: Pick<Cache<NodePool>, 'list'>;
  readonly overriders: Pick<Cache<YurtAppOverrider>, 'list'>;
  /** Finds a YurtAppSet or YurtAppDaemon. */
  readonly subject: (kind: string, key: string) => YurtApp | undefined;
}

const MOST_BYTES = 7 * 1024 * 1024;

export const yurtAppRules = (sources: YurtAppSources): AdmissionRule[] => [
  appRule(sources, YURT_APP_SETS.resource, ['v1alpha1', 'v1beta1']),
  appRule(sources, YURT_APP_DAEMONS.resource, ['v1alpha1']),
  overriderRule(sources),
];

const appRule = (sources: YurtAppSources, resource: string, versions: string[]): AdmissionRule => ({
  group: YURT_APP_SETS.group,
  versions,
  resource,
  scope: 'Namespaced',
  operations: ['CREATE', 'UPDATE'],
  // A permission that cannot be checked is not granted, as for EdgeApplications.
  failurePolicy: 'Fail',
  mostBytes: MOST_BYTES,
  async evaluate(request, turn): Promise<AdmissionResult> {
    if (changedSpec(request) === undefined) return {};
    const app = named<YurtApp>(request, request.object);
    const before = request.oldObject ? named<YurtApp>(request, request.oldObject) : undefined;
    const overrider = overriderFor(
      sources.overriders
        .list()
        .filter((one) => isFor(one, app.kind, `${app.metadata.namespace}/${app.metadata.name}`)),
    );
    // A mistake of the YurtAppOverrider must not block the application.
    const result = await checked(sources, { app, before, overrider: undefined }, request.userInfo, turn);
    const all = translate(app, overrider, sources.pools.list());
    const warnings = all.errors
      .filter(({ path }) => !result.problems?.some((problem) => problem.path === path))
      .map(({ path, message }) => `${path}: ${message}`);
    if (all.pools.length === 0)
      warnings.push('spec: no NodePool is selected; nothing is deployed until there is one');
    return { ...result, warnings };
  },
});

const overriderRule = (sources: YurtAppSources): AdmissionRule => ({
  group: YURT_APP_OVERRIDERS.group,
  versions: ['v1alpha1'],
  resource: YURT_APP_OVERRIDERS.resource,
  scope: 'Namespaced',
  operations: ['CREATE', 'UPDATE'],
  failurePolicy: 'Fail',
  mostBytes: MOST_BYTES,
  async evaluate(request, turn): Promise<AdmissionResult> {
    // Also if it is being deleted: a finalizer can hold it for any time.
    if (!request.object) return {};
    const overrider = named<YurtAppOverrider>(request, request.object);
    const { subject, entries } = overrider;
    const old = request.oldObject as unknown as YurtAppOverrider | null | undefined;
    if (old && isDeepStrictEqual([subject, entries], [old.subject, old.entries])) return {};
    const { kind, key } = subjectOf(overrider);
    const other = sources.overriders
      .list()
      .find(
        (one) =>
          isFor(one, kind, key) && one.metadata.name !== overrider.metadata.name && !isBeingDeleted(one),
      );
    if (other !== undefined)
      return {
        problems: [
          {
            path: 'subject',
            message: `${kind} ${key} already has the YurtAppOverrider ${other.metadata.name}: add the entries there`,
          },
        ],
      };
    const app = sources.subject(kind, key);
    if (app === undefined) {
      const forbidden = await missingForBoth(overrider, request.userInfo, sources.permissions);
      const warnings = [`subject: ${kind} ${key} not found; nothing is changed until it exists`];
      return forbidden === undefined ? { warnings } : { forbidden };
    }
    return checked(sources, { app, before: app, overrider }, request.userInfo, turn);
  },
});

/** The subject may be created later, by another user and with a template of either kind. */
const missingForBoth = (
  { metadata }: YurtAppOverrider,
  user: UserInfo,
  { access }: PermissionSources,
): Promise<string | undefined> =>
  unlessUnreachable(user, async () => {
    for (const resource of ['deployments', 'statefulsets']) {
      const target = { group: 'apps', resource, namespace: `${metadata.namespace}` };
      if (!(await access(user, { verb: 'patch', ...target })))
        return `entries: ${authorOf(user)} cannot patch ${textOfTarget(target)}; a YurtAppOverrider changes workloads: grant the permission`;
    }
    return undefined;
  });

/** An object with the name and namespace of the request: with generateName, the API server has not chosen the name yet. */
function named<T extends YurtApp | YurtAppOverrider>(
  { name, namespace }: AdmissionRequest,
  object: KubeObject | null | undefined,
): T {
  const metadata = { ...object?.metadata, name: name || object?.metadata.generateName, namespace };
  return { ...object, metadata } as unknown as T;
}

const isFor = (overrider: YurtAppOverrider, kind: string, key: string): boolean => {
  const subject = subjectOf(overrider);
  return subject.kind === kind && subject.key === key;
};

interface Checked {
  readonly app: YurtApp;
  /** What is replaced. */
  readonly before: YurtApp | undefined;
  readonly overrider: YurtAppOverrider | undefined;
}

/** Mistakes first, because they are cheap to find; then the permissions of the author; then what rendering finds. */
async function checked(
  { pools, permissions }: YurtAppSources,
  { app, before, overrider }: Checked,
  user: UserInfo,
  turn: Turn | undefined,
): Promise<AdmissionResult> {
  const { spec, errors } = translate(app, overrider, pools.list());
  const problems: FieldProblem[] = errors.map((error) => ({
    ...error,
    path: error.path.replace(/^YurtApp.*?: /, ''),
  }));
  if (problems.length > 0 || spec === undefined) return { problems };
  const application = applicationOf(app, spec);
  const old = before && translate(before, undefined, []).spec;
  const replaced = old && before && applicationOf(before, old);
  const forbidden = await missingPermission(application, replaced, user, permissions);
  if (forbidden !== undefined) return { forbidden: inTermsOf(app, forbidden) };
  const found = await validateEdgeApplication(application as EdgeApplication, turn);
  return found.length === 0
    ? {}
    : { problems: found.map(({ path, message }) => ({ path: inTermsOf(app, path), message })) };
}

/** Names the field of OpenYurt's object instead of the field of the EdgeApplication. */
function inTermsOf(app: YurtApp, text: string): string {
  const base = baseWorkload(app);
  const { path } = base;
  return text
    .replaceAll('spec.workloadTemplate.manifests[0]', path)
    .replaceAll(/spec\.workloadScope\.target\w+\[\d+\][\w.[\]]*/g, 'spec')
    .replaceAll(applicationNameOf(app), `${app.metadata.name}`);
}
