import type { KubeObject } from '@tidegate/kube';
import { NODE_ADDRESSES_ANNOTATION } from '../../api/index.ts';
import { parseAddressRanges } from '../../pools/index.ts';
import type { AdmissionRequest, FieldProblem } from '../review.ts';

/** An entry that cannot be read would have no effect, and certificates of the pool would wait without a visible reason. */
export function nodeAddressProblems({ object, oldObject }: AdmissionRequest): FieldProblem[] {
  if (!object) return [];
  const written = rangesOf(object);
  if (written === rangesOf(oldObject)) return [];
  return parseAddressRanges(written).invalid.map((entry) => ({
    path: `metadata.annotations[${NODE_ADDRESSES_ANNOTATION}]`,
    message: `${JSON.stringify(entry)} is not an IP address or a range: write, for example, 192.0.2.0/24`,
  }));
}

const rangesOf = (object: KubeObject | null | undefined): string =>
  object?.metadata.annotations?.[NODE_ADDRESSES_ANNOTATION] ?? '';
