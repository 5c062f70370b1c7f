import { EnrollError } from './error.ts';

/** Otherwise the command would end with the first file that it may not read or write. */
export function requireRoot(root: string, user = process.getuid?.()): void {
  if (root === '/' && user !== 0)
    throw new EnrollError(
      'this command changes files in /etc and /var/lib, and restarts the kubelet: run it as root',
    );
}
