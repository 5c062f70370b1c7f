/** Review resources, such as SubjectAccessReview: nothing is stored, and the result is returned in `status`. */
import { type KubeObject, setField } from '@tidegate/kube';
import { ApiError, badRequest, type FieldError, fieldError, fieldErrorMessage } from '@tidegate/serving';
import type { Review, ReviewResource } from '../resources/hooks.ts';
import type { UserInfo } from '../resources/types.ts';
import type { Authenticator } from './authenticate.ts';
import type { Attributes, Authorizer } from './authorization.ts';
import type { Rbac } from './rbac/rbac.ts';

const GROUP = 'authorization.k8s.io';

export interface ReviewsOptions {
  authenticator: Authenticator;
  /** Audiences for token reviews that name none. */
  audiences: string[];
  authorizer: Authorizer;
  rbac: Rbac;
}

/** The handlers of all review resources, by the name of the resource. */
export function reviews(options: ReviewsOptions): Record<ReviewResource, Review> {
  const answer = (object: KubeObject, review: AccessReview): KubeObject => {
    const decision = options.authorizer.authorize(review.user, review.attributes);
    const { allowed, reason } = decision;
    return { ...object, status: { allowed, ...(reason === '' ? {} : { reason }) } };
  };
  return {
    tokenreviews: async (object) => reviewToken(object, options),
    subjectaccessreviews: async (object) => answer(object, readSubjectReview(object, false)),
    localsubjectaccessreviews: async (object) => answer(object, readSubjectReview(object, true)),
    selfsubjectaccessreviews: async (object, { user }) => answer(object, readSelfReview(object, user)),
    selfsubjectrulesreviews: async (object, { user }) => reviewRules(object, user, options.rbac),
    selfsubjectreviews: async ({ kind, apiVersion }, context) => ({
      kind,
      apiVersion,
      metadata: { creationTimestamp: `${context.now.toISOString().slice(0, 19)}Z` },
      status: { userInfo: context.user },
    }),
  };
}

function reviewToken(object: KubeObject, options: ReviewsOptions): KubeObject {
  const spec = (object.spec ?? {}) as { token?: string; audiences?: string[] };
  if (!spec.token) throw badRequest('token is required for TokenReview in authentication');
  const result = options.authenticator.verifyToken(
    spec.token,
    spec.audiences?.length ? spec.audiences : options.audiences,
  );
  const status =
    'user' in result
      ? { authenticated: true, user: result.user, audiences: result.audiences }
      : { user: {}, error: result.error };
  return { ...object, status };
}

interface AccessSpec {
  user?: string;
  uid?: string;
  groups?: string[];
  extra?: Record<string, string[]>;
  resourceAttributes?: {
    verb?: string;
    group?: string;
    resource?: string;
    subresource?: string;
    namespace?: string;
    name?: string;
    fieldSelector?: {
      rawSelector?: string;
      requirements?: { key: string; operator: string; values?: string[] }[];
    };
  } | null;
  nonResourceAttributes?: { verb?: string; path?: string } | null;
}

interface AccessReview {
  user: UserInfo;
  attributes: Attributes;
}

function readSelfReview(object: KubeObject, user: UserInfo): AccessReview {
  const spec = (object.spec ?? {}) as AccessSpec;
  throwInvalid([...attributeErrors(spec), ...metadataErrors(object)]);
  return { user, attributes: attributesOf(spec) };
}

function readSubjectReview(object: KubeObject, local: boolean): AccessReview {
  const spec = (object.spec ?? {}) as AccessSpec;
  const errors = attributeErrors(spec);
  if (!spec.user && !spec.groups?.length) {
    errors.push(
      fieldError.invalid('spec.user', spec.user ?? '', 'at least one of user or group must be specified'),
    );
  }
  if (local) errors.push(...localErrors(object, spec));
  else errors.push(...metadataErrors(object));
  throwInvalid(errors);
  const user: UserInfo = {
    username: spec.user ?? '',
    ...(spec.uid ? { uid: spec.uid } : {}),
    groups: spec.groups ?? [],
    ...(spec.extra ? { extra: spec.extra } : {}),
  };
  return { user, attributes: attributesOf(spec) };
}

function attributeErrors({ resourceAttributes, nonResourceAttributes }: AccessSpec): FieldError[] {
  if (resourceAttributes && nonResourceAttributes) {
    return [
      fieldError.invalid(
        'spec.nonResourceAttributes',
        printPath(nonResourceAttributes),
        'cannot be specified in combination with resourceAttributes',
      ),
    ];
  }
  if (!resourceAttributes && !nonResourceAttributes) {
    const text = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
    return [fieldError.invalid('spec.resourceAttributes', null, text)];
  }
  return [];
}

/** kube-apiserver prints its internal type here, whose field names are capitalized. */
const printPath = ({ path = '', verb = '' }: { path?: string; verb?: string }): object => ({
  Path: path,
  Verb: verb,
});

function metadataErrors({ metadata }: KubeObject): FieldError[] {
  return isEmpty(metadata, ['managedFields'])
    ? []
    : [fieldError.invalid('metadata', metadata, 'must be empty')];
}

const isEmpty = (metadata: object | undefined, except: string[]): boolean =>
  Object.entries(metadata ?? {}).every(
    ([key, value]) => value === null || value === '' || except.includes(key),
  );

function localErrors({ metadata }: KubeObject, spec: AccessSpec): FieldError[] {
  const errors: FieldError[] = [];
  if (!isEmpty(metadata, ['managedFields', 'namespace'])) {
    errors.push(fieldError.invalid('metadata', metadata, 'must be empty except for namespace'));
  }
  const asked = spec.resourceAttributes;
  if (asked && (asked.namespace ?? '') !== metadata.namespace) {
    errors.push(
      fieldError.invalid(
        'spec.resourceAttributes.namespace',
        asked.namespace ?? '',
        'must match metadata.namespace',
      ),
    );
  }
  if (spec.nonResourceAttributes) {
    const value = printPath(spec.nonResourceAttributes);
    errors.push(
      fieldError.invalid('spec.nonResourceAttributes', value, 'disallowed on this kind of request'),
    );
  }
  return errors;
}

/** kube-apiserver does not name the kind of the review in these errors. */
function throwInvalid(errors: FieldError[]): void {
  if (errors.length === 0) return;
  const messages = errors.map(fieldErrorMessage);
  const text = messages.length === 1 ? messages[0] : `[${messages.join(', ')}]`;
  throw new ApiError(422, 'Invalid', `.${GROUP} "" is invalid: ${text}`, {
    group: GROUP,
    causes: errors.map(({ reason, body, field }) => ({ reason, message: body, field })),
  });
}

function attributesOf(spec: AccessSpec): Attributes {
  const path = spec.nonResourceAttributes;
  if (path) return { verb: path.verb ?? '', path: path.path ?? '' };
  const {
    verb = '',
    group = '',
    resource = '',
    subresource = '',
    namespace = '',
    name = '',
    fieldSelector,
  } = spec.resourceAttributes ?? {};
  const fields: Record<string, string> = {};
  for (const { key, operator, values } of fieldSelector?.requirements ?? []) {
    if (operator === 'In' && values?.length === 1) setField(fields, key, values[0]!);
  }
  return { verb, group, resource, subresource, namespace, name, fields };
}

function reviewRules(object: KubeObject, user: UserInfo, rbac: Rbac): KubeObject {
  const { namespace = '' } = (object.spec ?? {}) as { namespace?: string };
  if (namespace === '') throw badRequest('no namespace on request');
  const { rules, error } = rbac.rulesFor(user, namespace);
  const resourceRules = rules
    .filter((rule) => rule.resources?.length)
    .map(({ verbs, apiGroups, resources, resourceNames }) => ({
      verbs,
      apiGroups,
      resources,
      ...(resourceNames?.length ? { resourceNames } : {}),
    }));
  const nonResourceRules = rules
    .filter((rule) => rule.nonResourceURLs?.length)
    .map(({ verbs, nonResourceURLs }) => ({ verbs, nonResourceURLs }));
  return {
    ...object,
    metadata: {},
    spec: {},
    status: {
      resourceRules,
      nonResourceRules,
      incomplete: false,
      ...(error === '' ? {} : { evaluationError: error }),
    },
  };
}
