import type { AttachedPolicy } from '../../api/index.ts';
import { credentialsReference, readPolicies } from '../policy/index.ts';
import { readAttachedPolicy } from './read.ts';
import { guardValues } from './settings.ts';

/** `namespace/name` of the Secrets with users and authorities that a policy names. */
export function secretsOfPolicy(policy: AttachedPolicy): string[] {
  const { values, secretNamespace, namespace = '' } = readAttachedPolicy(policy);
  const owner = { namespace: secretNamespace ?? namespace, name: '' };
  // A ClusterRoutePolicy without the namespace closes the hosts.
  if (owner.namespace === '') return [];
  const { basic, clientCertificate } = readPolicies(guardValues(values), owner).route ?? {};
  return [basic, clientCertificate].flatMap((each) =>
    each === undefined ? [] : [credentialsReference(each.credentials).secret],
  );
}
