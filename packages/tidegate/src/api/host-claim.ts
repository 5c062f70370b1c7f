/**
 * HostClaim: the record that a namespace has a host of a class, and since when. The manager writes it when the first
 * Ingress names the host. When no Ingress of the namespace names the host any more, the claim is reserved for the namespace for
 * a time, and then deleted. Routers serve a host for the namespace of its claim only. So a claim, and not the age of an
 * Ingress, decides which namespace owns a host.
 */
import type { KindResource, Metadata } from './object.ts';
import { ageColumn, type CustomResourceDefinition, definition, object, text, wholeObject } from './schema.ts';

export type HostClaimSpec = {
  ingressClassName: string;
  /** A host, a wildcard, or `*` for rules without a host. Several namespaces can have a claim to `*`. */
  host: string;
  namespace: string;
  /** When the namespace got the host. Of two claims to a host, the earlier one counts. */
  since: string;
  /** No Ingress of the namespace names the host at the moment. Until this time, no other namespace gets it. */
  reservedUntil?: string;
};

export type HostClaim = {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
  spec: HostClaimSpec;
};

export const HOST_CLAIMS: KindResource<HostClaim> = {
  group: 'networking.tidegate.io',
  version: 'v1alpha1',
  resource: 'hostclaims',
  namespaced: false,
};

/** The host in a claim that stands for rules without a host. */
export const ALL_HOSTS = '*';

const schema = wholeObject(
  'HostClaim records which namespace has a host of an IngressClass.',
  object(
    'The claim.',
    {
      ingressClassName: text('IngressClass of the host.', { minLength: 1, maxLength: 253 }),
      host: text('Host, wildcard, or * for rules without a host.', { minLength: 1, maxLength: 253 }),
      namespace: text('Namespace that has the host. Change it to give the host to another namespace.', {
        minLength: 1,
        maxLength: 63,
      }),
      since: text('Time at which the namespace got the host.', { format: 'date-time' }),
      reservedUntil: text(
        'Set while no Ingress of the namespace names the host: until this time, the host is reserved for the namespace. Delete the claim to end the reservation.',
        { format: 'date-time' },
      ),
    },
    {
      required: ['ingressClassName', 'host', 'namespace', 'since'],
      'x-kubernetes-validations': [
        {
          rule: 'self.host == oldSelf.host && self.ingressClassName == oldSelf.ingressClassName',
          message: 'host and ingressClassName cannot be changed: delete the claim instead',
        },
      ],
    },
  ),
  undefined,
  { required: ['spec'] },
);

export const hostClaimDefinition = (): CustomResourceDefinition =>
  definition({
    group: HOST_CLAIMS.group,
    kind: 'HostClaim',
    plural: HOST_CLAIMS.resource,
    shortNames: ['hc'],
    scope: 'Cluster',
    versions: ['v1alpha1'],
    schema,
    columns: [
      { name: 'Host', type: 'string', jsonPath: '.spec.host', description: 'Host, or * for all hosts' },
      { name: 'Class', type: 'string', jsonPath: '.spec.ingressClassName', description: 'IngressClass' },
      { name: 'Namespace', type: 'string', jsonPath: '.spec.namespace', description: 'Owner of the host' },
      { name: 'Since', type: 'string', jsonPath: '.spec.since', description: 'Time of the claim' },
      {
        name: 'Reserved-Until',
        type: 'string',
        jsonPath: '.spec.reservedUntil',
        description: 'If no Ingress names the host: time until which it is reserved for the namespace',
      },
      { ...ageColumn, priority: 1 },
    ],
  });
