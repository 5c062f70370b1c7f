/** AdmissionReview, from the side of the one who is asked. */
import type { KubeObject, Status, StatusCause } from '@tidegate/kube';

export type Operation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

/** Who asks, as the API server knows them. */
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
  /** Absent when something is deleted. */
  object?: KubeObject | null;
  /** Absent when something is created. */
  oldObject?: KubeObject | null;
}

/** What is wrong with a field, and what to write instead. */
export interface Problem {
  path: string;
  message: string;
}

/** JSON Patch, RFC 6902. */
export interface PatchOperation {
  op: 'add' | 'replace' | 'remove';
  path: string;
  value?: unknown;
}

export interface Verdict {
  /** The object can not be as it is: the answer is "invalid", with every field. */
  problems?: Problem[];
  /** The operation can not be now, whatever the object says: the answer is "forbidden". */
  forbidden?: string;
  /** Shown to the user; the request goes on. */
  warnings?: string[];
  /** What to change in the object, of a rule that may. */
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

/** The whole body that answers a review. */
export const answer = (apiVersion: string, request: AdmissionRequest, verdict: Verdict): object => ({
  kind: 'AdmissionReview',
  apiVersion,
  response: responseTo(request, verdict),
});

function responseTo(request: AdmissionRequest, verdict: Verdict): AdmissionResponse {
  const { problems = [], forbidden, warnings = [], patch } = verdict;
  const base = { uid: request.uid, ...(warnings.length > 0 ? { warnings } : {}) };
  if (forbidden !== undefined) {
    return { ...base, allowed: false, status: { code: 403, reason: 'Forbidden', message: forbidden } };
  }
  if (problems.length > 0) return { ...base, allowed: false, status: invalid(request, problems) };
  if (patch === undefined) return { ...base, allowed: true };
  const encoded = Buffer.from(JSON.stringify(patch)).toString('base64');
  return { ...base, allowed: true, patchType: 'JSONPatch', patch: encoded };
}

/** In the words that an API server has for its own kinds, so that users need to know one form only. */
function invalid(request: AdmissionRequest, problems: Problem[]): Partial<Status> {
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

/** Reads a review; throws a sentence when it is none. */
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
    isTexts(groups) &&
    typeof extra === 'object' &&
    Object.values(extra ?? {}).every(isTexts)
  );
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');
