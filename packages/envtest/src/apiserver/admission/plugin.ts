/** The interface of admission plugins. */
import type { AdmissionAttributes } from '../operations/core.ts';

/** Throws to reject a write. In the mutating phase it may change `attributes.object`. */
export type Plugin = (attributes: AdmissionAttributes) => void;

/** For example `networking.k8s.io/ingresses` or `pods`. */
export const resourceOf = ({ served }: AdmissionAttributes): string => {
  const { group, plural } = served.definition;
  return group === '' ? plural : `${group}/${plural}`;
};
