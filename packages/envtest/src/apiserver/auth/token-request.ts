/**
 * The subresource `serviceaccounts/token` (TokenRequest): issues a token, optionally bound to a pod, secret or node.
 */
import { type KubeObject, parseApiVersion } from '@tidegate/kube';
import {
  type ApiError,
  badRequest,
  conflict,
  fieldError,
  forbidden,
  invalid,
  notFound,
} from '@tidegate/serving';
import type { RequestContext, SubresourceHandler, UserInfo } from '../resources/types.ts';
import type { Store } from '../store/types.ts';
import { nodeOf } from './identity.ts';
import type { ObjectName, ServiceAccountTokens, TokenSubject } from './tokens.ts';

const KIND = { group: 'authentication.k8s.io', kind: 'TokenRequest' };
const DEFAULT_EXPIRATION = 3600;
const MIN_EXPIRATION = 600;
const MAX_EXPIRATION = 2 ** 32;
/**
 * kubelets request this lifetime, in seconds, for the tokens of pods. Old programs that read the file only once would
 * fail after an hour, so kube-apiserver extends these tokens to a year and records when a program uses one after it
 * should have been refreshed.
 */
const POD_TOKEN_EXPIRATION = 3607;
const EXTENDED_EXPIRATION = 365 * 24 * 3600;

interface BoundObjectRef {
  kind?: string;
  apiVersion?: string;
  name?: string;
  uid?: string;
}

interface TokenRequestSpec {
  audiences?: string[];
  expirationSeconds?: number;
  boundObjectRef?: BoundObjectRef | null;
}

export function tokenRequestHandler(tokens: ServiceAccountTokens): SubresourceHandler {
  return async ({ parent, body, context }) => ({
    respond: createToken(tokens, parent, body, context),
    code: 201,
  });
}

function createToken(
  tokens: ServiceAccountTokens,
  serviceAccount: KubeObject,
  request: KubeObject,
  context: RequestContext,
): KubeObject {
  const name = serviceAccount.metadata.name!;
  const namespace = serviceAccount.metadata.namespace!;
  checkMetadata(request, serviceAccount);

  const asked = (request.spec ?? {}) as TokenRequestSpec;
  const audiences = asked.audiences?.length ? asked.audiences : tokens.audiences;
  const expirationSeconds = asked.expirationSeconds ?? DEFAULT_EXPIRATION;
  checkExpiration(expirationSeconds);

  const subject: TokenSubject = {
    namespace,
    serviceAccount: { name, uid: serviceAccount.metadata.uid! },
    ...(asked.boundObjectRef ? bind(asked.boundObjectRef, name, namespace, context.store) : {}),
  };
  restrictNode(context.user, name, asked.boundObjectRef, subject);
  const extended =
    subject.pod !== undefined &&
    expirationSeconds === POD_TOKEN_EXPIRATION &&
    audiences.every((audience) => tokens.audiences.includes(audience));

  const token = tokens.issue({
    subject,
    audiences,
    expirationSeconds: extended ? EXTENDED_EXPIRATION : expirationSeconds,
    ...(extended ? { warnAfterSeconds: expirationSeconds } : {}),
  });
  const expiry = new Date(context.now.getTime() + expirationSeconds * 1000);
  return {
    kind: 'TokenRequest',
    apiVersion: 'authentication.k8s.io/v1',
    metadata: {
      name,
      namespace,
      uid: serviceAccount.metadata.uid,
      creationTimestamp: seconds(context.now),
    },
    spec: { audiences, expirationSeconds, boundObjectRef: asked.boundObjectRef ?? null },
    status: { token, expirationTimestamp: seconds(expiry) },
  };
}

/** A node may request tokens only for the service accounts of its own pods, and only tokens bound to these pods. */
function restrictNode(
  user: UserInfo,
  serviceAccount: string,
  ref: BoundObjectRef | null | undefined,
  subject: TokenSubject,
): void {
  const node = nodeOf(user);
  if (node === undefined) return;
  const refuse = (why: string): ApiError =>
    forbidden({ group: '', resource: 'serviceaccounts' }, serviceAccount, why);
  if (subject.pod === undefined) throw refuse('node requested token not bound to a pod');
  if (!ref?.uid) throw refuse('node requested token with a pod binding without a uid');
  if (subject.node?.name !== node) {
    throw refuse('node requested token bound to a pod scheduled on a different node');
  }
}

const seconds = (date: Date): string => `${date.toISOString().slice(0, 19)}Z`;

function checkMetadata(request: KubeObject, serviceAccount: KubeObject): void {
  const name = serviceAccount.metadata.name!;
  for (const field of ['name', 'namespace'] as const) {
    const given = request.metadata?.[field];
    if (!given || given === serviceAccount.metadata[field]) continue;
    const text = `must match the service account ${field} if specified`;
    throw invalid(KIND, name, [fieldError.invalid(`metadata.${field}`, given, text)]);
  }
  const uid = request.metadata?.uid;
  if (uid && uid !== serviceAccount.metadata.uid) {
    throw conflict(
      { group: KIND.group, resource: KIND.kind },
      name,
      `the UID in the token request (${uid}) does not match the UID of the service account (${serviceAccount.metadata.uid})`,
    );
  }
}

function checkExpiration(value: number): void {
  const field = 'spec.expirationSeconds';
  if (value < MIN_EXPIRATION) {
    throw invalid(KIND, '', [
      fieldError.invalid(field, value, 'may not specify a duration less than 10 minutes'),
    ]);
  }
  if (value > MAX_EXPIRATION) {
    throw invalid(KIND, '', [
      fieldError.invalid(field, value, 'may not specify a duration larger than 2^32 seconds'),
    ]);
  }
}

/**
 * Checks that the bound object exists and returns the claims for it. The token becomes invalid when the object is
 * deleted.
 */
function bind(
  ref: BoundObjectRef,
  serviceAccount: string,
  namespace: string,
  store: Store,
): Pick<TokenSubject, 'pod' | 'secret' | 'node'> {
  const { group, version } = parseApiVersion(ref.apiVersion ?? '');
  const name = ref.name ?? '';
  const get = (resource: string, inNamespace: string): KubeObject => {
    const entry = store.get({ resource, namespace: inNamespace, name });
    if (entry === undefined) throw notFound({ group: '', resource }, name);
    return JSON.parse(entry.value.toString()) as KubeObject;
  };
  const named = (object: KubeObject): ObjectName => {
    const uid = object.metadata.uid!;
    if (ref.uid && ref.uid !== uid) {
      throw conflict(
        { group: '', resource: ref.kind! },
        name,
        `the UID in the bound object reference (${ref.uid}) does not match the UID in record. The object might have been deleted and then recreated`,
      );
    }
    return { name, uid };
  };
  switch (group === '' ? ref.kind : undefined) {
    case 'Pod': {
      const pod = get('pods', namespace);
      const spec = pod.spec as { serviceAccountName?: string; nodeName?: string };
      if (spec.serviceAccountName !== serviceAccount) {
        throw badRequest(
          `cannot bind token for serviceaccount ${JSON.stringify(serviceAccount)} to pod running with different serviceaccount name.`,
        );
      }
      return { pod: named(pod), ...(spec.nodeName ? { node: nodeClaim(spec.nodeName, store) } : {}) };
    }
    case 'Node':
      return { node: named(get('nodes', '')) };
    case 'Secret':
      return { secret: named(get('secrets', namespace)) };
    default:
      throw badRequest(`cannot bind token to object of type ${group}/${version}, Kind=${ref.kind ?? ''}`);
  }
}

function nodeClaim(name: string, store: Store): { name: string; uid?: string } {
  const entry = store.get({ resource: 'nodes', namespace: '', name });
  if (entry === undefined) return { name };
  const node = JSON.parse(entry.value.toString()) as KubeObject;
  return { name, uid: node.metadata.uid };
}
