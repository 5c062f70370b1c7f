/**
 * A node must not choose its pool, nor the applications that it runs. What decides the pool are labels of its Node object, and the record of what Tidegate set
 * there; the NodeRestriction plugin of Kubernetes allows nodes to change both. With them, a compromised node could join the
 * pool of another site: it would receive the pods, Secrets and endpoints of that site, and remove taints that
 * administrators set, because Tidegate removes what the record contains.
 */
import { labelKeyProblems, type ObjectMeta } from '@tidegate/kube';
import {
  DESIRED_NODE_POOL_LABEL,
  NODE_GROUP_LABEL,
  NODE_POOL_LABEL,
  OPENYURT_WRITTEN_ANNOTATION,
  WRITTEN_ANNOTATION,
} from '../../api/index.ts';
import type { TargetLabels } from '../../apps/index.ts';
import type { Membership, ReachabilitySources } from '../../pools/index.ts';
import type { AdmissionRequest, AdmissionResult, UserInfo } from '../review.ts';
import type { AdmissionRule, MatchCondition } from '../rule.ts';

export interface NodeIdentitySources {
  membership: Pick<Membership, 'selectorKeys'>;
  targetLabels: Pick<TargetLabels, 'keys'>;
  /** Whether a node may choose its pool when it registers, with `--node-labels` of the kubelet. */
  registration: 'allow' | 'refuse';
  /** Nodes as the API server has stored them. */
  nodes: Pick<ReachabilitySources, 'nodes' | 'nodeNow'>;
}

const POOL_LABELS = [NODE_POOL_LABEL, DESIRED_NODE_POOL_LABEL, NODE_GROUP_LABEL];
const RECORDS = [WRITTEN_ANNOTATION, OPENYURT_WRITTEN_ANNOTATION];

/** Metadata can also be changed through `status`, which kubelets write all the time. */
export const nodeIdentityRules = (sources: NodeIdentitySources): AdmissionRule[] =>
  [{}, { subresource: 'status' }].map((of) => ({
    group: '',
    versions: ['v1'],
    resource: 'nodes',
    ...of,
    scope: 'Cluster',
    operations: of.subresource === undefined ? ['CREATE', 'UPDATE'] : ['UPDATE'],
    // The conditions limit it to nodes that change their own pool, which kubelets never do. Heartbeats do not depend on
    // the manager, nor does the registration of the node on which it is going to run.
    failurePolicy: 'Fail',
    guards: 'metadata',
    matchConditions: () => conditionsFor(sources),
    evaluate: (request) => evaluate(request, sources),
  }));

async function evaluate(request: AdmissionRequest, sources: NodeIdentitySources): Promise<AdmissionResult> {
  const { object, oldObject, userInfo } = request;
  if (!isNode(userInfo) || !object) return {};
  const { name = '' } = object.metadata;
  const isNew = !oldObject;
  let { labels, records } = differences(object.metadata, oldObject?.metadata, sources);
  if (!isNew && labels.length + records.length === 0) {
    const stored = await storedNode(name, sources);
    if (stored !== undefined) ({ labels, records } = differences(object.metadata, stored.metadata, sources));
  }
  if (labels.length + records.length === 0) return {};
  const what = [...labels.map((key) => `label ${key}`), ...records.map((key) => `annotation ${key}`)];
  const advice =
    labels.length === 0
      ? 'only the manager writes this annotation'
      : `an administrator can set it: kubectl label node ${name} ${labels[0]}=VALUE --overwrite`;
  return {
    forbidden: `node ${name} cannot ${isNew ? 'register with' : 'change'} ${what.join(', ')}: it decides to which pool the node belongs, or which applications it runs; ${advice}`,
  };
}

/** What a node must not change. `before` is undefined if it registers. */
function differences(
  now: ObjectMeta,
  before: ObjectMeta | undefined,
  sources: NodeIdentitySources,
): { labels: string[]; records: string[] } {
  const isFree = before === undefined && sources.registration === 'allow';
  return {
    labels: isFree ? [] : changed(now.labels, before?.labels, protectedLabels(sources)),
    records: changed(now.annotations, before?.annotations, RECORDS),
  };
}

/**
 * The node before the change, as far as it is known. Before Kubernetes 1.18.18, 1.19.10 and 1.20.6, API servers copy the new
 * metadata of a node into `oldObject` (CVE-2021-25735), so a change of labels is not visible there. The cache may be a moment
 * old, and a node that repeats its request all the time would hit that moment; it is used only if there is nothing better.
 * API servers with conditions are not affected, and do not ask about requests that change nothing.
 */
const storedNode = (name: string, { nodes: { nodes, nodeNow } }: NodeIdentitySources) =>
  nodeNow(name).catch(() => nodes.get(name));

const isNode = ({ username, groups = [] }: UserInfo): boolean =>
  username.startsWith('system:node:') || groups.includes('system:nodes');

function changed(
  now: Readonly<Record<string, string>> = {},
  before: Readonly<Record<string, string>> = {},
  keys: readonly string[],
): string[] {
  const value = (map: Readonly<Record<string, string>>, key: string): string | undefined =>
    Object.hasOwn(map, key) ? map[key] : undefined;
  return keys.filter((key) => value(now, key) !== value(before, key));
}

/**
 * The labels that name pools, and those that selectors of pools and applications use. Authors of applications must not prevent
 * kubelets from writing the labels that each of them writes.
 */
const protectedLabels = ({ membership, targetLabels }: NodeIdentitySources): string[] => [
  ...new Set([
    ...POOL_LABELS,
    ...membership.selectorKeys(),
    ...targetLabels.keys().filter((key) => !KUBELET_LABELS.has(key)),
  ]),
];

/** Labels that the kubelet writes on its own, from what it finds on the machine or gets from the cloud provider. */
export const KUBELET_LABELS: ReadonlySet<string> = new Set([
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
  'beta.kubernetes.io/instance-type',
  'node.kubernetes.io/instance-type',
  'node.kubernetes.io/windows-build',
  'topology.kubernetes.io/region',
  'topology.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
]);

const FROM_NODE: MatchCondition = {
  name: 'from-node',
  expression:
    'request.userInfo.username.startsWith("system:node:") || (has(request.userInfo.groups) && "system:nodes" in request.userInfo.groups)',
};

/** Beyond this number, the condition compares all labels: the API server limits the cost of an expression. */
const MAX_KEYS = 50;
/** Not a valid label value, so it is different from every value that a label can have. */
const ABSENT = '"!"';

function conditionsFor(sources: NodeIdentitySources): MatchCondition[] {
  const keys = protectedLabels(sources).filter((key) => labelKeyProblems(key).length === 0);
  const labels = keys.length > MAX_KEYS ? mapDiffers('labels') : anyDiffers('labels', keys.toSorted());
  const isUpdate = sources.registration === 'allow' ? 'oldObject != null && ' : '';
  return [
    FROM_NODE,
    {
      name: 'pool-is-changed',
      expression: `(${isUpdate}${labels}) || ${anyDiffers('annotations', RECORDS)}`,
    },
  ];
}

type MetadataMap = 'labels' | 'annotations';

const hasMap = (object: string, map: MetadataMap): string =>
  `${object} != null && has(${object}.metadata.${map})`;

function anyDiffers(map: MetadataMap, keys: readonly string[]): string {
  const value = (object: string): string =>
    `(${hasMap(object, map)} && key in ${object}.metadata.${map} ? ${object}.metadata.${map}[key] : ${ABSENT})`;
  return `${JSON.stringify(keys)}.exists(key, ${value('object')} != ${value('oldObject')})`;
}

function mapDiffers(map: MetadataMap): string {
  const value = (object: string): string => `(${hasMap(object, map)} ? ${object}.metadata.${map} : {})`;
  return `${value('object')} != ${value('oldObject')}`;
}
