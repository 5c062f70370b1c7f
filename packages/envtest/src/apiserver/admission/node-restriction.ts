/**
 * NodeRestriction: a node may write only its own Node, Lease and pods. It checks objects, which the node authorizer
 * cannot see.
 */
import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '@tidegate/kube';
import { type ApiError, notFound } from '@tidegate/serving';
import { nodeOf } from '../auth/identity.ts';
import type { AdmissionAttributes } from '../operations/core.ts';
import { refusal } from '../operations/refusal.ts';
import type { Store } from '../store/types.ts';
import { requestedSubject } from './certificates.ts';
import { type Plugin, resourceOf } from './plugin.ts';

const MIRROR_POD = 'kubernetes.io/config.mirror';
const NODE_LEASES = 'kube-node-lease';
const KUBELET_SIGNERS = ['kubernetes.io/kubelet-serving', 'kubernetes.io/kube-apiserver-client-kubelet'];

export function nodeRestriction(store: Store): Plugin {
  return (attributes) => {
    const node = nodeOf(attributes.user);
    if (node === undefined) return;
    switch (resourceOf(attributes)) {
      case 'pods':
        return checkPod(store, node, attributes);
      case 'nodes':
        return checkNode(node, attributes);
      case 'coordination.k8s.io/leases':
        return checkLease(node, attributes);
      case 'certificates.k8s.io/certificatesigningrequests':
        return checkSigningRequest(node, attributes);
    }
  };
}

const nodeNameOf = (pod: KubeObject | undefined): string | undefined =>
  (pod?.spec as { nodeName?: string } | undefined)?.nodeName;

/**
 * A kubelet reports the status of its pods, deletes them when they have terminated, and creates mirror pods. It
 * cannot change specs or labels, so a compromised node cannot affect pods on other nodes.
 */
function checkPod(store: Store, node: string, attributes: AdmissionAttributes): void {
  const { operation, subresource, object, oldObject } = attributes;
  const quoted = JSON.stringify(node);
  switch (`${operation} ${subresource}`) {
    case 'CREATE ':
      checkMirrorPod(store, node, attributes);
      return;
    case 'DELETE ':
      if (nodeNameOf(oldObject) === node) return;
      throw refusal(attributes, `node ${quoted} can only delete pods with spec.nodeName set to itself`);
    case 'UPDATE status':
      if (nodeNameOf(oldObject) !== node) {
        throw refusal(
          attributes,
          `node ${quoted} can only update pod status for pods with spec.nodeName set to itself`,
        );
      }
      if (!isDeepStrictEqual(oldObject?.metadata.labels ?? {}, object?.metadata.labels ?? {})) {
        throw refusal(attributes, `node ${quoted} cannot update labels through pod status`);
      }
      return;
    default:
      if (subresource !== '') {
        const what = JSON.stringify(subresource);
        throw refusal(
          attributes,
          `unexpected pod subresource ${what}, only 'status' and 'eviction' are allowed`,
        );
      }
      throw refusal(
        attributes,
        `unexpected operation ${JSON.stringify(operation)}, node ${quoted} can only create and delete mirror pods`,
      );
  }
}

/**
 * A mirror pod shows a static pod of the node. It must belong to the node, so that it disappears with the Node
 * object.
 */
function checkMirrorPod(store: Store, node: string, attributes: AdmissionAttributes): void {
  const pod = attributes.object;
  const quoted = JSON.stringify(node);
  const refuse = (why: string): ApiError => refusal(attributes, why);
  if (pod?.metadata.annotations?.[MIRROR_POD] === undefined) {
    throw refuse(`pod does not have "${MIRROR_POD}" annotation, node ${quoted} can only create mirror pods`);
  }
  if (nodeNameOf(pod) !== node) {
    throw refuse(`node ${quoted} can only create pods with spec.nodeName set to itself`);
  }
  const [owner, ...more] = pod.metadata.ownerReferences ?? [];
  if (more.length > 0) {
    throw refuse(`node ${quoted} can only create pods with a single owner reference set to itself`);
  }
  if (owner === undefined || owner.apiVersion !== 'v1' || owner.kind !== 'Node' || owner.name !== node) {
    throw refuse(`node ${quoted} can only create pods with an owner reference set to itself`);
  }
  if (owner.controller !== true) {
    throw refuse(`node ${quoted} can only create pods with a controller owner reference set to itself`);
  }
  if (owner.blockOwnerDeletion) {
    throw refuse(`node ${quoted} must not set blockOwnerDeletion on an owner reference`);
  }
  const entry = store.get({ resource: 'nodes', namespace: '', name: node });
  if (entry === undefined) throw notFound({ group: '', resource: 'nodes' }, node);
  const { uid } = (JSON.parse(entry.value.toString()) as KubeObject).metadata;
  if (owner.uid !== uid) throw refuse(`node ${node} UID mismatch: expected ${owner.uid} got ${uid}`);
}

/** A node must not change its own taints, owners or reserved labels, because they decide which pods it receives. */
function checkNode(node: string, attributes: AdmissionAttributes): void {
  const { operation, name, object, oldObject } = attributes;
  const quoted = JSON.stringify(node);
  if (name !== node)
    throw refusal(attributes, `node ${quoted} is not allowed to modify node ${JSON.stringify(name)}`);
  if (operation === 'DELETE' || object === undefined) return;
  if (operation === 'UPDATE') {
    const taints = (o: KubeObject | undefined): unknown =>
      (o?.spec as { taints?: unknown } | undefined)?.taints ?? [];
    if (!isDeepStrictEqual(taints(object), taints(oldObject))) {
      throw refusal(attributes, `node ${quoted} is not allowed to modify taints`);
    }
    const owners = (o: KubeObject | undefined): unknown => o?.metadata.ownerReferences ?? [];
    if (!isDeepStrictEqual(owners(object), owners(oldObject))) {
      throw refusal(attributes, `node ${quoted} is not allowed to modify ownerReferences`);
    }
  }
  const reserved = changedKeys(object.metadata.labels, oldObject?.metadata.labels).filter(isReserved).sort();
  if (reserved.length === 0) return;
  throw refusal(
    attributes,
    operation === 'CREATE'
      ? `node ${quoted} is not allowed to set the following labels: ${reserved.join(', ')}`
      : `is not allowed to modify labels: ${reserved.join(', ')}`,
  );
}

type Labels = Record<string, string>;

const changedKeys = (now: Labels = {}, before: Labels = {}): string[] =>
  [...new Set([...Object.keys(now), ...Object.keys(before)])].filter((key) => now[key] !== before[key]);

/** Labels below kubernetes.io that a kubelet sets itself. */
const OWN_LABELS = new Set([
  'kubernetes.io/hostname',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'beta.kubernetes.io/instance-type',
  'node.kubernetes.io/instance-type',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
]);

/** With these labels, a node could attract workloads that are not meant for it. */
function isReserved(key: string): boolean {
  const slash = key.indexOf('/');
  const domain = slash < 0 ? '' : key.slice(0, slash);
  const within = (parent: string): boolean => domain === parent || domain.endsWith(`.${parent}`);
  if (within('node-restriction.kubernetes.io')) return true;
  if (!within('kubernetes.io') && !within('k8s.io')) return false;
  return !OWN_LABELS.has(key) && !within('kubelet.kubernetes.io') && !within('node.kubernetes.io');
}

function checkLease(node: string, attributes: AdmissionAttributes): void {
  const { namespace, name } = attributes;
  if (namespace !== NODE_LEASES) {
    throw refusal(attributes, `can only access leases in the "${NODE_LEASES}" system namespace`);
  }
  if (name !== node) {
    throw refusal(attributes, 'can only access node lease with the same name as the requesting node');
  }
}

/** A node can request certificates only for its own identity. */
function checkSigningRequest(node: string, attributes: AdmissionAttributes): void {
  const { operation, object } = attributes;
  const spec = (object?.spec ?? {}) as { signerName?: string };
  if (operation !== 'CREATE' || !KUBELET_SIGNERS.includes(spec.signerName ?? '')) return;
  if (requestedSubject(attributes).commonName !== `system:node:${node}`) {
    throw refusal(attributes, `can only create a node CSR with CN=system:node:${node}`);
  }
}
