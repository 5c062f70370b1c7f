/** API groups of the Kubernetes community: a CRD in one of them must link to its API approval. */
import { type FieldError, fieldError } from '@tidegate/serving';
import type { CustomResourceDefinition } from './types.ts';

const ANNOTATION = 'api-approved.kubernetes.io';
const POLICY = 'https://github.com/kubernetes/enhancements/pull/1111';

const isProtected = (group: string): boolean => /(^|\.)(k8s|kubernetes)\.io$/.test(group);

type Approval = 'missing' | 'given' | 'unreadable';

/** `given` is a URL of a pull request, or a text that starts with `unapproved` and states why. */
function approvalOf({ metadata }: CustomResourceDefinition): Approval {
  const text = metadata.annotations?.[ANNOTATION] ?? '';
  if (text === '') return 'missing';
  return text.startsWith('unapproved') || /^[a-z][a-z0-9+.-]*:\/\/[^/]/i.test(text) ? 'given' : 'unreadable';
}

/** Definitions that were accepted earlier stay valid. */
export function checkApproval(
  crd: CustomResourceDefinition,
  old: CustomResourceDefinition | undefined,
): FieldError[] {
  const approval = approvalOf(crd);
  if (!isProtected(crd.spec.group ?? '') || approval === 'given') return [];
  if (old !== undefined && approvalOf(old) === approval) return [];
  const field = `metadata.annotations[${ANNOTATION}]`;
  const must = `protected groups must have approval annotation "${ANNOTATION}"`;
  if (approval === 'missing') return [fieldError.required(field, `${must}, see ${POLICY}`)];
  return [
    fieldError.invalid(
      field,
      crd.metadata.annotations?.[ANNOTATION],
      `${must} with either a URL or a reason starting with "unapproved", see ${POLICY}`,
    ),
  ];
}
