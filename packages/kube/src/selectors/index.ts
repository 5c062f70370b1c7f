/**
 * Label and field selectors: text or an object in, a matcher out.
 *
 *   parseLabelSelector('tier in (web, api), !legacy').matches(pod.metadata.labels)
 *   parseFieldSelector('spec.nodeName=n1').matches((field) => fields[field])
 */
export { SelectorError } from './error.ts';
export { FieldMatcher, parseFieldSelector } from './fields.ts';
export { labelKeyProblems, labelValueProblems } from './label-format.ts';
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
} from './labels.ts';
export { meetsNodeRequirement } from './node-requirement.ts';
export { parseLabelSelector } from './parse-labels.ts';
