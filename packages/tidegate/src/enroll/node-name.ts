/** Which node a kubeconfig belongs to, as its client certificate says. */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { subjectOf } from '@tidegate/kube/certificates';
import { userIn } from './kubeconfig-server.ts';

const PREFIX = 'system:node:';

/** Undefined if the file has no certificate of a node that can be read, for example because it has a token. */
export function nodeNameIn(root: string, file: string, text: string): string | undefined {
  const { 'client-certificate-data': data, 'client-certificate': path } = userIn(file, text);
  if (typeof data !== 'string' && typeof path !== 'string') return undefined;
  try {
    const pem = typeof data === 'string' ? Buffer.from(data, 'base64') : readFileSync(join(root, `${path}`));
    const { commonName } = subjectOf(new X509Certificate(pem));
    return commonName.startsWith(PREFIX) ? commonName.slice(PREFIX.length) : undefined;
  } catch {
    // The hub reports what is wrong with its credentials when it starts.
    return undefined;
  }
}
