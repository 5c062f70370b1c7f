/**
 * The answers of kube-apiserver to invalid strategic merge patches. A malformed directive is a 400; most other errors are,
 * as in kube-apiserver, a 500 without a reason.
 */
import type { StrategicMergeError, StrategicMergeProblem } from '@tidegate/kube/patch';
import { ApiError, badRequest } from '@tidegate/serving';
import { formatGoValue, goTypeName } from './go-format.ts';

export function strategicApiError(error: StrategicMergeError): ApiError {
  const { problem } = error;
  if (problem.type === 'invalid directive')
    return badRequest(`invalid patch format of ${DIRECTIVES[problem.directive]}`);
  if (problem.type === 'list of lists') {
    return new ApiError(422, 'Invalid', 'the server rejected our request due to an error in our request', {});
  }
  return new ApiError(500, '', goMessage(problem));
}

const DIRECTIVES = {
  $deleteFromPrimitiveList: 'primitive list',
  $retainKeys: 'retainKeys',
  $setElementOrder: 'setElementOrder list',
} as const;

const EXAMPLES = { list: [], map: {} };

function goMessage(
  problem: Exclude<StrategicMergeProblem, { type: 'invalid directive' | 'list of lists' }>,
): string {
  switch (problem.type) {
    case 'unknown $patch':
      return `unknown patch type: ${formatGoValue(problem.value)} in map: ${formatGoValue(problem.map)}`;
    case 'list merge directive':
      return 'merging lists cannot yet be specified in the patch';
    case 'no merge key in item':
      return `map: ${formatGoValue(problem.item)} does not contain declared merge key: ${problem.mergeKey}`;
    case 'no merge key for list':
      return 'cannot merge lists without merge key for struct';
    case 'wrong type':
      return `expected a ${goTypeName(EXAMPLES[problem.expected])}, but received a ${goTypeName(problem.actual)}`;
    case 'order mismatch':
      return `The order in patch list:\n${formatGoValue(problem.patch)}\n doesn't match $setElementOrder list:\n${formatGoValue(problem.order)}\n`;
    case 'mixed item types':
      return `list element types are not identical: ${formatGoValue(problem.lists)}`;
    case 'no items':
      return 'no elements in any of the given slices';
  }
}
