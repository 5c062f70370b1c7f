import { type Ingress, keyOf } from '@tidegate/kube';
import type { Outcome } from '../../ingress/compile/index.ts';
import { HONORED, NGINX_PREFIX, readNginxAnnotations } from '../../ingress/nginx-annotations/index.ts';

/** `honored`: the same behavior. `changed`: served without it. `refused`: not served with it. */
export type Verdict = 'honored' | 'changed' | 'refused';

export interface AnnotationVerdict {
  readonly name: string;
  readonly value: string;
  readonly verdict: Verdict;
  /** What Tidegate does, or why it does not; sentences. */
  readonly text: string;
}

/** Values can be long, for example snippets. */
const MOST_SHOWN = 200;

/**
 * What Tidegate does with each annotation that concerns it: those with the prefix of ingress-nginx, and those that are refused with
 * every prefix. The tables of `ingress/nginx-annotations` decide.
 */
export function annotationVerdicts(ingress: Ingress, outcome: Outcome | undefined): AnnotationVerdict[] {
  const annotations = ingress.metadata.annotations ?? {};
  const invalid = new Map(
    (outcome?.problems ?? [])
      .filter(({ reason }) => reason === 'InvalidAnnotation')
      .map(({ field, message }) => [field, message]),
  );
  return Object.keys(annotations)
    .sort()
    .flatMap((annotation) => {
      const value = annotations[annotation] ?? '';
      const found = verdictOf(annotation, value, invalid.get(`metadata.annotations[${annotation}]`));
      const name = annotation.startsWith(NGINX_PREFIX) ? annotation.slice(NGINX_PREFIX.length) : annotation;
      return found === undefined ? [] : [{ name, value: value.slice(0, MOST_SHOWN), ...found }];
    });
}

function verdictOf(
  annotation: string,
  value: string,
  invalid: string | undefined,
): Pick<AnnotationVerdict, 'verdict' | 'text'> | undefined {
  // Alone: the list for all annotations of an Ingress is limited.
  const { refused, ignored } = readNginxAnnotations({ [annotation]: value });
  if (refused[0] !== undefined) return { verdict: 'refused', text: refused[0].message };
  if (invalid !== undefined) return { verdict: 'refused', text: invalid };
  if (ignored[0] !== undefined) return { verdict: 'changed', text: ignored[0].message };
  if (!annotation.startsWith(NGINX_PREFIX)) return undefined;
  const { does } = HONORED.get(annotation.slice(NGINX_PREFIX.length)) ?? { does: 'It asks for nothing.' };
  return { verdict: 'honored', text: does };
}

/** Problems of an Ingress that are not about one annotation, and that no rule of `model/rules.ts` explains. */
export function otherProblems(outcome: Outcome | undefined): { field: string; message: string }[] {
  const known = new Set([
    'InvalidAnnotation',
    'AnnotationIgnored',
    'AccessControlNotSupported',
    'PathsAreRegex',
  ]);
  return (outcome?.problems ?? [])
    .filter(({ about, reason }) => about === 'routes' && !known.has(reason))
    .map(({ field, message }) => ({ field, message }));
}

/** Ingresses in the order of the inventory. */
export const byKey = (a: Ingress, b: Ingress): number => (keyOf(a) < keyOf(b) ? -1 : 1);
