/** Reads AdmissionReview requests and builds their responses. */
import type { KubeObject, Status, StatusCause } from '@tidegate/kube';

export type Operation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

/** The user that sent the request, as authenticated by the API server. */
export interface UserInfo {
  username: string;
  uid?: string;
  groups?: string[];
  extra?: Record<string, string[]>;
}

export interface AdmissionRequest {
  uid: string;
  kind: { group: string; version: string; kind: string };
  resource: { group: string; version: string; resource: string };
  subResource?: string;
  name?: string;
  namespace?: string;
  operation: Operation;
  userInfo: UserInfo;
  /** Absent for DELETE. */
  object?: KubeObject | null;
  /** Absent for CREATE. */
  oldObject?: KubeObject | null;
}

/** A field with an invalid value. The message says what to write instead. */
export interface FieldProblem {
  path: string;
  message: string;
}

/** JSON Patch, RFC 6902. */
export interface PatchOperation {
  op: 'add' | 'replace' | 'remove';
  path: string;
  value?: unknown;
}

/** What a rule decided. An empty result allows the request. */
export interface AdmissionResult {
  /** The object is invalid. The response has status 422 and lists every field. */
  problems?: FieldProblem[];
  /** The operation is not allowed, regardless of the object's content. The response has status 403. */
  forbidden?: string;
  /** Shown to the user. The request is still allowed. */
  warnings?: string[];
  /** Changes to the object. Only for mutating rules. */
  patch?: PatchOperation[];
}

interface AdmissionResponse {
  uid: string;
  allowed: boolean;
  status?: Partial<Status>;
  warnings?: string[];
  patchType?: 'JSONPatch';
  /** In base64. */
  patch?: string;
}

/** What a response has to repeat of its review. */
export interface Envelope {
  readonly apiVersion: string;
  readonly request: Pick<AdmissionRequest, 'uid'>;
}

/** What the beginning of a review says, before it is parsed. */
export interface Head extends Envelope {
  readonly resource: { readonly group: string; readonly resource: string; readonly subResource: string };
  /** Empty for cluster-scoped objects, and if it is not in the beginning. */
  readonly namespace: string;
}

const HEAD =
  /^\{"kind":"AdmissionReview","apiVersion":"(admission\.k8s\.io\/v1)","request":\{"uid":"([\w-]{1,64})","kind":\{[^{}]*\},"resource":\{"group":"([\w.-]*)","version":"\w*","resource":"(\w*)"\}(?:,"subResource":"(\w*)")?/;

/** API servers write the fields in this order. Undefined if another client wrote the review. */
export function headIn(text: string): Head | undefined {
  const match = HEAD.exec(text);
  if (match === null) return undefined;
  const [all, apiVersion = '', uid = '', group = '', resource = '', subResource = ''] = match;
  const [, namespace = ''] = /"namespace":"([\w.-]*)","operation":"/.exec(text.slice(all.length)) ?? [];
  return { apiVersion, request: { uid }, resource: { group, resource, subResource }, namespace };
}

/** The response to a review that was not evaluated. */
export const refusalOf = ({ apiVersion, request }: Envelope, code: 413 | 429, message: string): object => ({
  kind: 'AdmissionReview',
  apiVersion,
  response: {
    uid: request.uid,
    allowed: false,
    status: { code, reason: code === 413 ? 'RequestEntityTooLarge' : 'TooManyRequests', message },
  } satisfies AdmissionResponse,
});

/** The body of the response to a review. */
export const reviewResponse = (
  apiVersion: string,
  request: AdmissionRequest,
  result: AdmissionResult,
): object => ({
  kind: 'AdmissionReview',
  apiVersion,
  response: responseTo(request, result),
});

/** The first problems are enough to correct a mistake, and an API server truncates long lists of warnings anyway. */
const MOST_SHOWN = 20;

function responseTo(request: AdmissionRequest, result: AdmissionResult): AdmissionResponse {
  const { forbidden, patch } = result;
  const problems = shown(result.problems ?? [], (more) => ({
    path: 'metadata',
    message: `${more} more problems are not shown`,
  }));
  const warnings = shown(result.warnings ?? [], (more) => `${more} more warnings are not shown`);
  const base = { uid: request.uid, ...(warnings.length > 0 ? { warnings } : {}) };
  if (forbidden !== undefined) {
    return { ...base, allowed: false, status: { code: 403, reason: 'Forbidden', message: forbidden } };
  }
  if (problems.length > 0) return { ...base, allowed: false, status: invalid(request, problems) };
  if (patch === undefined) return { ...base, allowed: true };
  const encoded = Buffer.from(JSON.stringify(patch)).toString('base64');
  return { ...base, allowed: true, patchType: 'JSONPatch', patch: encoded };
}

const shown = <T>(all: readonly T[], rest: (more: number) => T): T[] =>
  all.length <= MOST_SHOWN ? [...all] : [...all.slice(0, MOST_SHOWN), rest(all.length - MOST_SHOWN)];

/** Has the same format as the API server's own validation errors, so that users see one format only. */
function invalid(request: AdmissionRequest, problems: FieldProblem[]): Partial<Status> {
  const { group, kind } = request.kind;
  const name = request.name ?? request.object?.metadata.name ?? '';
  const texts = problems.map(({ path, message }) => `${path}: ${message}`);
  const causes: StatusCause[] = problems.map(({ path, message }) => ({
    reason: 'FieldValueInvalid',
    field: path,
    message,
  }));
  return {
    code: 422,
    reason: 'Invalid',
    message: `${kind}.${group} ${JSON.stringify(name)} is invalid: ${
      texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`
    }`,
    details: { name, group, kind, causes },
  };
}

/** Parses the body of a review. Throws if the body is not valid. */
export function readReview(body: string): { apiVersion: string; request: AdmissionRequest } {
  const review: unknown = JSON.parse(body);
  if (!isReview(review)) throw new TypeError('the body is not an AdmissionReview with a request');
  return review;
}

function isReview(value: unknown): value is { apiVersion: string; request: AdmissionRequest } {
  if (typeof value !== 'object' || value === null) return false;
  const { kind, apiVersion, request } = value as Record<string, unknown>;
  if (kind !== 'AdmissionReview' || typeof apiVersion !== 'string') return false;
  if (typeof request !== 'object' || request === null) return false;
  const { uid, kind: of, resource, operation, userInfo } = request as Record<string, unknown>;
  return (
    typeof uid === 'string' &&
    typeof operation === 'string' &&
    typeof of === 'object' &&
    typeof resource === 'object' &&
    isUserInfo(userInfo)
  );
}

function isUserInfo(value: unknown): value is UserInfo {
  if (typeof value !== 'object' || value === null) return false;
  const { username, uid = '', groups = [], extra = {} } = value as Record<string, unknown>;
  return (
    typeof username === 'string' &&
    typeof uid === 'string' &&
    isStrings(groups) &&
    typeof extra === 'object' &&
    Object.values(extra ?? {}).every(isStrings)
  );
}

const isStrings = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');
