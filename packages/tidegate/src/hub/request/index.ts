/**
 * What a request says of itself: which program asks (`component.ts`), which objects it wants (`selection.ts`) and from
 * which version on (`read-options.ts`). Who asks is not here: that has to be proved, see `identity/`.
 */
export { componentOf } from './component.ts';
export { type ReadOptions, readOptions } from './read-options.ts';
export {
  EVERYTHING,
  type Selection,
  selectable,
  selectsByKey,
  selectsKey,
  selectsObject,
} from './selection.ts';
