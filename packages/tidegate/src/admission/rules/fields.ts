/** What is wrong with fields that several kinds have. Each problem names the path of the field. */
import {
  type LabelSelector,
  labelKeyProblems,
  labelValueProblems,
  matcherFromSelector,
  SelectorError,
} from '@tidegate/kube';
import type { Problem } from '../review.ts';

type Texts = Readonly<Record<string, string>>;

export const labelProblems = (path: string, labels: Texts = {}): Problem[] =>
  Object.entries(labels).flatMap(([key, value]) => [
    ...labelKeyProblems(key).map((why) => ({ path, message: `key ${JSON.stringify(key)}: ${why}` })),
    ...labelValueProblems(value).map((why) => ({
      path,
      message: `value ${JSON.stringify(value)} of ${key}: ${why}`,
    })),
  ]);

/** Their values may be anything. */
export const annotationProblems = (path: string, annotations: Texts = {}): Problem[] =>
  labelProblems(path, Object.fromEntries(Object.keys(annotations).map((key) => [key, ''])));

export function selectorProblems(path: string, selector: LabelSelector = {}): Problem[] {
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
