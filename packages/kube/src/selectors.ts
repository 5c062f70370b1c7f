/**
 * Label and field selectors: text or object in, a matcher out.
 *
 *   parseLabelSelector('tier in (web, api), !legacy').matches(pod.metadata.labels)
 *   parseFieldSelector('spec.nodeName=n1').matches((field) => fields[field])
 */
export { SelectorError } from './selectors/error.ts';
export {
  escapeFieldValue,
  FieldMatcher,
  type FieldRequirement,
  parseFieldSelector,
} from './selectors/fields.ts';
export { labelKeyProblems, labelValueProblems } from './selectors/label-format.ts';
export {
  everyLabel,
  LabelMatcher,
  type LabelOperator,
  type LabelRequirement,
  type LabelSelector,
  type Labels,
  matcherFromLabels,
  matcherFromSelector,
  noLabel,
} from './selectors/labels.ts';
export { meetsNodeRequirement } from './selectors/node-requirement.ts';
export { parseLabelSelector } from './selectors/parse-labels.ts';
