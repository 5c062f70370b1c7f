/**
 * Converts a YurtAppSet between its versions, for `tidegate convert`. The API server does not convert: its schema has the fields of
 * both versions, and the controller reads both.
 *
 * v1beta1 has no tolerations, no strategic merge patches and no node selector terms. The first two become JSON Patches; a term that
 * is not a NodePool cannot be converted. The fields of v1alpha1 are kept in an annotation. So a conversion back restores them, unless
 * the object was changed in between.
 */
import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '@tidegate/kube';
import {
  CONVERTED_YURT_APP_ANNOTATION,
  NODE_POOL_LABEL,
  type TopologyPool,
  type WorkloadTweak,
  type YurtAppSet,
  type YurtAppSetSpec,
  type YurtAppSetVersion,
  type YurtPatch,
} from '../api/index.ts';
import { without } from '../apps/index.ts';
import { withChanges } from './changes.ts';
import { jsonDifference } from './json-difference.ts';
import { sitesOf } from './sites.ts';
import { baseWorkload, type FieldError, isBeta } from './template.ts';

export function convertYurtAppSet(app: YurtAppSet, version: YurtAppSetVersion): YurtAppSet | FieldError {
  const named = { ...app, apiVersion: `apps.openyurt.io/${version}` };
  if (version === 'v1beta1') return isBeta(app) ? named : toBeta(named);
  return isBeta(app) ? toAlpha(named) : named;
}

function toBeta(app: YurtAppSet): YurtAppSet | FieldError {
  const spec = betaSpec(app);
  if ('message' in spec) return spec;
  const { selector, workloadTemplate, topology } = app.spec ?? {};
  const stash = JSON.stringify({ selector, workloadTemplate, topology });
  const annotations = { ...app.metadata.annotations, [CONVERTED_YURT_APP_ANNOTATION]: stash };
  return { ...app, metadata: { ...app.metadata, annotations }, spec };
}

/** The spec of v1beta1 with the same effect. */
function betaSpec(app: YurtAppSet): YurtAppSetSpec | FieldError {
  const base = baseWorkload(app);
  if ('message' in base) return base;
  const { sites, errors } = sitesOf(app, undefined, []);
  if (errors[0] !== undefined) return errors[0];
  const tweaks: WorkloadTweak[] = [];
  for (const { name, nodes, changes } of sites) {
    if ('selector' in nodes)
      return {
        path: 'spec.topology.pools',
        message: `pool ${name}: v1beta1 selects NodePools only: create a NodePool with these nodes, or keep v1alpha1`,
      };
    const changed = withChanges(base.object, changes);
    if ('message' in changed) return changed as FieldError;
    const tweak = tweakFor(base.object, changed);
    if (Object.keys(tweak).length > 0) tweaks.push({ pools: [name], tweaks: tweak });
  }
  const { metadata, spec } = base.object;
  const { name: _, namespace: _1, ...meta } = metadata;
  const body = { metadata: meta, spec: spec as Record<string, unknown> };
  const field = base.type === 'Deployment' ? 'deploymentTemplate' : 'statefulSetTemplate';
  const limit = app.spec?.revisionHistoryLimit;
  return {
    ...(limit !== undefined && { revisionHistoryLimit: limit }),
    pools: sites.map(({ name }) => name),
    workload: {
      workloadTemplate: { [field]: body },
      ...(tweaks.length > 0 && { workloadTweaks: tweaks }),
    },
  };
}

function tweakFor(before: KubeObject, after: KubeObject): NonNullable<WorkloadTweak['tweaks']> {
  const replicas = (after.spec as { replicas?: number } | undefined)?.replicas;
  const differs = replicas !== (before.spec as { replicas?: number } | undefined)?.replicas;
  const [from, to] = [before, after].map((object) => without(object, ['spec', 'replicas']));
  const patches = jsonDifference(from, to).map(
    ({ op, path, value }): YurtPatch => ({
      path: `${path}`,
      operation: op as YurtPatch['operation'],
      ...(value !== undefined && { value }),
    }),
  );
  return { ...(differs && replicas !== undefined && { replicas }), ...(patches.length > 0 && { patches }) };
}

function toAlpha(app: YurtAppSet): YurtAppSet | FieldError {
  const { [CONVERTED_YURT_APP_ANNOTATION]: stash, ...annotations } = app.metadata.annotations ?? {};
  const { annotations: _, ...rest } = app.metadata;
  const metadata = Object.keys(annotations).length === 0 ? rest : { ...rest, annotations };
  const restored = stash === undefined ? undefined : restoredFrom(stash, app);
  if (restored !== undefined) return { ...app, metadata, spec: restored };
  return fromBeta({ ...app, metadata });
}

/** The fields in the annotation, if the object still has the spec that they were converted to. */
function restoredFrom(stash: string, app: YurtAppSet): YurtAppSetSpec | undefined {
  let fields: Pick<YurtAppSetSpec, 'selector' | 'workloadTemplate' | 'topology'>;
  try {
    fields = JSON.parse(stash);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return undefined;
  }
  const limit = app.spec?.revisionHistoryLimit;
  const spec = { ...fields, ...(limit !== undefined && { revisionHistoryLimit: limit }) };
  return isDeepStrictEqual(betaSpec({ ...app, spec }), app.spec) ? spec : undefined;
}

/** v1alpha1 names each pool, so pools that a selector selects cannot be converted. */
function fromBeta(app: YurtAppSet): YurtAppSet | FieldError {
  const { nodepoolSelector, revisionHistoryLimit, workload = {} } = app.spec ?? {};
  const tweaks = workload.workloadTweaks ?? [];
  const selecting = tweaks.findIndex((tweak) => tweak.nodepoolSelector !== undefined);
  if (nodepoolSelector !== undefined || selecting >= 0)
    return {
      path:
        nodepoolSelector === undefined
          ? `spec.workload.workloadTweaks[${selecting}].nodepoolSelector`
          : 'spec.nodepoolSelector',
      message: 'v1alpha1 cannot select pools by label: name them in pools, or keep v1beta1',
    };
  const base = baseWorkload(app);
  if ('message' in base) return base;
  const { sites } = sitesOf(app, undefined, []);
  const pools: TopologyPool[] = [];
  for (const { name, changes } of sites) {
    const changed = withChanges(base.object, changes);
    if ('message' in changed) return changed as FieldError;
    pools.push(topologyPool(name, base.object, changed));
  }
  const selector = (base.object.spec as { selector?: YurtAppSetSpec['selector'] }).selector;
  return {
    ...app,
    spec: {
      ...(selector && { selector }),
      ...(workload.workloadTemplate && { workloadTemplate: workload.workloadTemplate }),
      topology: { pools },
      ...(revisionHistoryLimit !== undefined && { revisionHistoryLimit }),
    },
  };
}

/** A patch that replaces the parts that differ. Lists with a key would be merged, so the whole spec of pods is replaced. */
function topologyPool(name: string, before: KubeObject, after: KubeObject): TopologyPool {
  const expression = { key: NODE_POOL_LABEL, operator: 'In', values: [name] };
  const replicas = (after.spec as { replicas?: number } | undefined)?.replicas;
  const isSame = isDeepStrictEqual(
    without(before, ['spec', 'replicas']),
    without(after, ['spec', 'replicas']),
  );
  const { labels, annotations } = after.metadata;
  return {
    name,
    nodeSelectorTerm: { matchExpressions: [expression] },
    ...(replicas !== undefined && { replicas }),
    ...(!isSame && {
      patch: {
        metadata: {
          ...(labels && { labels: { $patch: 'replace', ...labels } }),
          ...(annotations && { annotations: { $patch: 'replace', ...annotations } }),
        },
        spec: { $patch: 'replace', ...(after.spec as object) },
      },
    }),
  };
}
