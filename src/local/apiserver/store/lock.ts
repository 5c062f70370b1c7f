export { identify, isAlive, lockDirectory, lockOwner, type ProcessIdentity } from '../../../disk/lock.ts';
