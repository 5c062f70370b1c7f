/** Validation of fields that several kinds share. */
import {
  type LabelSelector,
  labelKeyProblems,
  labelValueProblems,
  matcherFromSelector,
  SelectorError,
} from '@tidegate/kube';
import type { FieldProblem } from '../review.ts';

type StringMap = Readonly<Record<string, string>>;

export const labelProblems = (path: string, labels: StringMap = {}): FieldProblem[] =>
  Object.entries(labels).flatMap(([key, value]) => [
    ...labelKeyProblems(key).map((why) => ({ path, message: `key ${JSON.stringify(key)}: ${why}` })),
    ...labelValueProblems(value).map((why) => ({
      path,
      message: `value ${JSON.stringify(value)} of ${key}: ${why}`,
    })),
  ]);

/** Annotation keys follow the rules for label keys. Their values can be anything. */
export const annotationProblems = (path: string, annotations: StringMap = {}): FieldProblem[] =>
  labelProblems(path, Object.fromEntries(Object.keys(annotations).map((key) => [key, ''])));

export function selectorProblems(path: string, selector: LabelSelector = {}): FieldProblem[] {
  try {
    matcherFromSelector(selector);
    return [];
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error;
    return [{ path, message: error.message }];
  }
}

export const isEmptySelector = (selector: LabelSelector | undefined): boolean =>
  selector !== undefined && matcherIsEmpty(selector);

const matcherIsEmpty = ({ matchLabels = {}, matchExpressions = [] }: LabelSelector): boolean =>
  Object.keys(matchLabels).length === 0 && matchExpressions.length === 0;
