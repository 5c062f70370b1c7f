export { writeFileAtomically } from '../../../disk/atomic-file.ts';
