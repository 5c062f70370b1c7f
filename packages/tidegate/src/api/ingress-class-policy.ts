/**
 * IngressClassPolicy: which namespaces may use an IngressClass, and which hosts each of them may claim. Its name is the
 * name of the class. It is cluster-scoped, so that only administrators of the cluster can write it. A class without a
 * policy can be used by all namespaces, and a host belongs to the first namespace that uses it.
 */
import type { KindResource, Metadata } from './object.ts';
import {
  ageColumn,
  type CustomResourceDefinition,
  definition,
  list,
  object,
  text,
  wholeObject,
} from './schema.ts';

/** An entry of `spec.allow`. */
export type HostAllowance = {
  namespaces: string[];
  /** `shop.example.com`, `*.example.com` for everything below it, or `*` for all hosts. Default: all hosts. */
  hosts?: string[];
};

export type IngressClassPolicy = {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
  spec: {
    /** If absent, all namespaces may use the class and claim any host. */
    allow?: HostAllowance[];
    /** Whether the owner of a wildcard owns the hosts below it. Default: `Own`. */
    hostsBelowWildcards?: 'Own' | 'Share';
    /** How long a host that no Ingress names any more is reserved for its namespace, for example `24h`. */
    reserveReleasedHosts?: string;
    /** Whether namespaces may claim wildcards above a public suffix, for example `*.co.uk`. Default: `Refuse`. */
    publicSuffixWildcards?: 'Refuse' | 'Allow';
  };
};

/** How long released hosts are reserved if the class has no other value. */
export const DEFAULT_HOST_RESERVATION = '24h';

export const INGRESS_CLASS_POLICIES: KindResource<IngressClassPolicy> = {
  group: 'networking.tidegate.io',
  version: 'v1alpha1',
  resource: 'ingressclasspolicies',
  namespaced: false,
};

const LABEL = '[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?';
const HOST_PATTERN = `^(\\*|(\\*\\.)?${LABEL}(\\.${LABEL})*)$`;

const schema = wholeObject(
  'IngressClassPolicy limits which namespaces may use an IngressClass, and which hosts they may claim. It applies to the IngressClass with the same name.',
  object('The policy.', {
    allow: list(
      'Namespaces that may use the class. If absent, all namespaces may use it with any host. If empty, none.',
      object(
        'Namespaces and the hosts that they may claim.',
        {
          namespaces: list(
            'Names of namespaces.',
            { type: 'string', minLength: 1, maxLength: 63 },
            { maxItems: 1_000, 'x-kubernetes-list-type': 'atomic' },
          ),
          hosts: list(
            'Hosts that the namespaces may claim: a host, *.example.com for the wildcard and everything below it, or * for all hosts and for rules without a host. Default: *.',
            { type: 'string', minLength: 1, maxLength: 253, pattern: HOST_PATTERN },
            { maxItems: 1_000, 'x-kubernetes-list-type': 'atomic' },
          ),
        },
        { required: ['namespaces'] },
      ),
      { maxItems: 1_000, 'x-kubernetes-list-type': 'atomic' },
    ),
    hostsBelowWildcards: text(
      'Own: the namespace that has *.example.com also has every host below it, except hosts that were claimed earlier. Share: other namespaces may claim hosts below it. Default: Own.',
      { enum: ['Own', 'Share'] },
    ),
    reserveReleasedHosts: text(
      `How long a host is reserved for its namespace after the last Ingress that names it was deleted or changed: a number with the unit s, m or h. 0s: not at all. Default: ${DEFAULT_HOST_RESERVATION}.`,
      { pattern: '^[0-9]{1,4}[smh]$' },
    ),
    publicSuffixWildcards: text(
      'Refuse: no namespace may claim a wildcard directly above a public suffix, for example *.com or *.co.uk. Allow: namespaces may claim them like other hosts. Default: Refuse.',
      { enum: ['Refuse', 'Allow'] },
    ),
  }),
  undefined,
  { required: ['spec'] },
);

export const ingressClassPolicyDefinition = (): CustomResourceDefinition =>
  definition({
    group: INGRESS_CLASS_POLICIES.group,
    kind: 'IngressClassPolicy',
    plural: INGRESS_CLASS_POLICIES.resource,
    shortNames: ['icpol'],
    scope: 'Cluster',
    versions: ['v1alpha1'],
    schema,
    columns: [
      {
        name: 'Below-Wildcards',
        type: 'string',
        jsonPath: '.spec.hostsBelowWildcards',
        description: 'Whether the owner of a wildcard owns the hosts below it',
      },
      ageColumn,
    ],
  });
