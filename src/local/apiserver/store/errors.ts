export { DiskError as StoreError } from '../../../disk/errors.ts';
