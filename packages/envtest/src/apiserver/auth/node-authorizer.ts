/**
 * The node authorizer: a node may read the objects that its own pods reference and write its own Node, Lease and pods.
 * The admission plugin NodeRestriction checks the objects that it writes, because authorization does not see them.
 */
import type { UserInfo } from '../resources/types.ts';
import type { Change, Store } from '../store/types.ts';
import {
  type Attributes,
  type Authorizer,
  type Decision,
  isPath,
  type ResourceAttributes,
} from './authorization.ts';
import { nodeOf } from './identity.ts';
import { type PodReference, podReferences } from './pod-references.ts';
import { NODE_RULES } from './rbac/bootstrap-policy.ts';
import { ruleAllows } from './rbac/rules.ts';

const ALLOW: Decision = { allowed: true, reason: '' };
const deny = (reason = ''): Decision => ({ allowed: false, reason });

/**
 * Keeps a graph from objects to the nodes that run a pod which references them. It follows the store, so a node gets
 * access when a pod is bound to it and loses access when its last pod with the reference is deleted.
 */
export class NodeAuthorizer implements Authorizer {
  /** For each object, the number of referencing pods by node. */
  readonly #relations = new Map<string, Map<string, number>>();
  /** The references of each pod in `#relations`. */
  readonly #pods = new Map<string, { node: string; references: string[] }>();
  readonly #stop: () => void;

  constructor(store: Store) {
    for (const { namespace, name, value } of store.list('pods').entries) this.#put(namespace, name, value);
    this.#stop = store.watchAll((changes) => {
      for (const change of changes) if (change.resource === 'pods') this.#follow(change);
    });
  }

  close(): void {
    this.#stop();
  }

  authorize(user: UserInfo, attributes: Attributes): Decision {
    const node = nodeOf(user);
    if (node === undefined) return deny();
    if (isPath(attributes)) return deny();
    const special = this.#special(node, attributes);
    if (special !== undefined) return special;
    return NODE_RULES.some((rule) => ruleAllows(rule, attributes)) ? ALLOW : deny();
  }

  /** Returns undefined for resources to which all nodes have the same access. */
  #special(node: string, attributes: ResourceAttributes): Decision | undefined {
    switch (attributes.group === '' ? attributes.resource : `${attributes.group}/${attributes.resource}`) {
      case 'secrets':
      case 'configmaps':
        return this.#read(node, attributes);
      case 'persistentvolumeclaims':
        return this.#get(node, attributes);
      case 'serviceaccounts':
        return this.#serviceAccount(node, attributes);
      case 'pods':
        return this.#pod(node, attributes);
      case 'nodes':
        return ownNode(node, attributes);
      case 'coordination.k8s.io/leases':
        return ownLease(node, attributes);
      default:
        return undefined;
    }
  }

  #read(node: string, attributes: ResourceAttributes): Decision {
    const { verb, subresource, namespace } = attributes;
    if (!['get', 'list', 'watch'].includes(verb)) return deny('can only read resources of this type');
    if (subresource !== '') return deny('cannot read subresource');
    if (namespace === '') return deny('can only read namespaced object of this type');
    return this.#related(node, attributes);
  }

  #get(node: string, attributes: ResourceAttributes): Decision {
    if (attributes.verb !== 'get') return deny('can only get individual resources of this type');
    if (attributes.subresource !== '') return deny('cannot get subresource');
    return this.#related(node, attributes);
  }

  #serviceAccount(node: string, attributes: ResourceAttributes): Decision {
    const { verb, subresource, name } = attributes;
    if (verb === 'get' && subresource === '') return this.#read(node, attributes);
    if (verb !== 'create' || name === '')
      return deny('can only create tokens for individual service accounts');
    if (subresource !== 'token') return deny('can only create token subresource of serviceaccount');
    return this.#related(node, attributes);
  }

  #pod(node: string, attributes: ResourceAttributes): Decision {
    const { verb, subresource, name, fields } = attributes;
    switch (`${verb} ${subresource}`) {
      case 'get ':
        return this.#get(node, attributes);
      case 'list ':
      case 'watch ':
        if (fields?.['spec.nodeName'] === node) return ALLOW;
        return name === ''
          ? deny('can only list/watch pods with spec.nodeName field selector')
          : this.#related(node, attributes);
      case 'create ':
      case 'delete ':
      case 'update status':
      case 'patch status':
      case 'create eviction':
        return ALLOW;
      default:
        return deny();
    }
  }

  #related(node: string, { resource, namespace, name }: ResourceAttributes): Decision {
    if (name === '') return deny('No Object name found');
    const known = this.#relations.get(objectKey({ resource, name }, namespace))?.has(node);
    return known ? ALLOW : deny(`no relationship found between node '${node}' and this object`);
  }

  #follow({ type, entry }: Change): void {
    if (type === 'put') this.#put(entry.namespace, entry.name, entry.value);
    else this.#forget(`${entry.namespace}/${entry.name}`);
  }

  #put(namespace: string, name: string, value: Buffer): void {
    const key = `${namespace}/${name}`;
    this.#forget(key);
    const { node, references } = podReferences(value);
    if (node === '') return;
    const keys = [{ resource: 'pods', name }, ...references].map((reference) =>
      objectKey(reference, namespace),
    );
    this.#pods.set(key, { node, references: keys });
    for (const reference of keys) {
      const nodes = this.#relations.get(reference) ?? new Map<string, number>();
      nodes.set(node, (nodes.get(node) ?? 0) + 1);
      this.#relations.set(reference, nodes);
    }
  }

  #forget(key: string): void {
    const pod = this.#pods.get(key);
    if (pod === undefined) return;
    this.#pods.delete(key);
    for (const reference of pod.references) {
      const nodes = this.#relations.get(reference)!;
      const left = nodes.get(pod.node)! - 1;
      if (left > 0) nodes.set(pod.node, left);
      else nodes.delete(pod.node);
      if (nodes.size === 0) this.#relations.delete(reference);
    }
  }
}

const objectKey = ({ resource, name }: PodReference, namespace: string): string =>
  `${resource}/${namespace}/${name}`;

function ownNode(node: string, { verb, subresource, name }: ResourceAttributes): Decision {
  if (subresource === 'status') return verb === 'update' || verb === 'patch' ? ALLOW : deny();
  if (subresource !== '') return deny();
  if (['create', 'update', 'patch'].includes(verb)) return ALLOW;
  if (!['get', 'list', 'watch'].includes(verb)) return deny();
  if (name === node) return ALLOW;
  return deny(
    name === ''
      ? `node '${node}' cannot read all nodes, only its own Node object`
      : `node '${node}' cannot read '${name}', only its own Node object`,
  );
}

/** A node reports that it is alive through its own Lease only. */
function ownLease(node: string, { verb, namespace, name }: ResourceAttributes): Decision {
  if (!['get', 'create', 'update', 'patch', 'delete'].includes(verb)) {
    return deny('can only get, create, update, patch, or delete a node lease');
  }
  if (namespace !== 'kube-node-lease') {
    return deny('can only access leases in the "kube-node-lease" system namespace');
  }
  // The path of a create has no name. NodeRestriction checks the name in the body.
  if (verb !== 'create' && name !== node) {
    return deny('can only access node lease with the same name as the requesting node');
  }
  return ALLOW;
}
