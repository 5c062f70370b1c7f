/** Turns an application of OpenYurt into the spec of an EdgeApplication, which the controller of EdgeApplications deploys. */
import type { KubeObject } from '@tidegate/kube';
import {
  type EdgeApplicationSpec,
  type NodePool,
  POOL_NAME_LABEL,
  REF_NODE_POOL_ANNOTATION,
  REF_YURT_APP_SET_LABEL,
  type TargetNodeGroup,
  type TargetNodeLabels,
  type TemplateType,
  type YurtAppOverrider,
} from '../api/index.ts';
import { mapAt, type Path, read, without, write } from '../apps/index.ts';
import { withChanges } from './changes.ts';
import { jsonDifference } from './json-difference.ts';
import { type Site, sitesOf } from './sites.ts';
import { baseWorkload, type FieldError, isYurtAppSet, type YurtApp } from './template.ts';

export interface Translation {
  readonly type: TemplateType | undefined;
  /** The names of the pools. */
  readonly pools: readonly string[];
  /** Undefined if there are errors: what runs is kept. */
  readonly spec: EdgeApplicationSpec | undefined;
  readonly errors: readonly FieldError[];
}

/** Names of workloads that OpenYurt has created, by pool. */
export type LiveNames = ReadonlyMap<string, string>;

/**
 * The pools that have a workload of their own get it in the EdgeApplication as a JSON Patch: the difference between the template
 * and the template with all changes. So the patch is as small as the changes, and an error names the field of OpenYurt's object.
 */
export function translate(
  app: YurtApp,
  overrider: YurtAppOverrider | undefined,
  pools: Iterable<NodePool>,
  liveNames: LiveNames = new Map(),
): Translation {
  const base = baseWorkload(app);
  const { sites, errors: siteErrors } = sitesOf(app, overrider, pools);
  const names = sites.map(({ name }) => name);
  if ('message' in base)
    return { type: undefined, pools: names, spec: undefined, errors: [base, ...siteErrors] };
  const template = complete(base.object, app);
  const errors: FieldError[] = [...siteErrors];
  const targetNodeGroups: TargetNodeGroup[] = [];
  const targetNodeLabels: TargetNodeLabels[] = [];
  for (const site of sites) {
    const changed = withChanges(withPool(template, site), site.changes);
    if ('message' in changed) {
      errors.push(changed as FieldError);
      continue;
    }
    // Again: a patch can replace all labels, and the selector must still match.
    const workload = withPool(withOwner(changed, app), site);
    const overriders = overridersFor(template, workload);
    if ('selector' in site.nodes) targetNodeLabels.push({ labelSelector: site.nodes.selector, overriders });
    else {
      const live = liveNames.get(site.name);
      targetNodeGroups.push({
        name: site.nodes.pool,
        kind: 'NodePool',
        overriders,
        ...(live !== undefined && { workloadNames: { [`${app.metadata.name}`]: live } }),
      });
    }
  }
  const spec: EdgeApplicationSpec = {
    workloadTemplate: { manifests: [template as unknown as Record<string, unknown>] },
    workloadScope: {
      targetNodeGroups,
      ...(targetNodeLabels.length > 0 && { targetNodeLabels }),
    },
  };
  return { type: base.type, pools: names, spec: errors.length === 0 ? spec : undefined, errors };
}

const POD_LABELS: Path = ['spec', 'template', 'metadata', 'labels'];
const MATCH_LABELS: Path = ['spec', 'selector', 'matchLabels'];

/** The template with the maps that `withPool` writes into, so that the patch of a pool has one operation for each label. */
function complete(object: KubeObject, app: YurtApp): KubeObject {
  const owned = withOwner(object, app);
  const labeled = write(owned, POD_LABELS, mapAt(owned, POD_LABELS));
  const annotated = write(labeled, ['metadata', 'annotations'], mapAt(labeled, ['metadata', 'annotations']));
  return read(annotated, ['spec', 'selector']) === undefined
    ? annotated
    : write(annotated, MATCH_LABELS, mapAt(annotated, MATCH_LABELS));
}

const withOwner = (object: KubeObject, app: YurtApp): KubeObject =>
  isYurtAppSet(app)
    ? write(object, ['metadata', 'labels', REF_YURT_APP_SET_LABEL], `${app.metadata.name}`)
    : object;

/** The labels by which users of OpenYurt select the workload and the pods of a pool. */
function withPool(template: KubeObject, { name }: Site): KubeObject {
  const paths: Path[] = [
    ['metadata', 'labels'],
    POD_LABELS,
    ...(read(template, MATCH_LABELS) === undefined ? [] : [MATCH_LABELS]),
  ];
  const labeled = paths.reduce((object, path) => write(object, [...path, POOL_NAME_LABEL], name), template);
  return write(labeled, ['metadata', 'annotations', REF_NODE_POOL_ANNOTATION], name);
}

function overridersFor(
  template: KubeObject,
  workload: KubeObject,
): NonNullable<TargetNodeGroup['overriders']> {
  const replicas = read(workload, ['spec', 'replicas']);
  const changed = typeof replicas === 'number' && replicas !== read(template, ['spec', 'replicas']);
  const patch = jsonDifference(
    changed ? without(template, ['spec', 'replicas']) : template,
    changed ? without(workload, ['spec', 'replicas']) : workload,
  );
  return {
    ...(changed && { replicas }),
    ...(patch.length > 0 && { patchOverriders: [{ patch: patch as PatchOperations }] }),
  };
}

type PatchOperations = { op: string; path: string; value?: unknown }[];
