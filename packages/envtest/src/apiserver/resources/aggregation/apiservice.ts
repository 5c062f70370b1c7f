import type { Condition, KubeObject } from '@tidegate/kube';
import { type FieldError, fieldError } from '@tidegate/serving';
import { define, statusOf } from '../define.ts';
import { ageColumn, nameColumn } from '../table.ts';
import { timestamp } from '../timestamp.ts';
import { named, required } from '../validation/checks.ts';
import { isDNS1035Label, isDNS1123Subdomain, isPathSegmentName, isPortNumber } from '../validation/names.ts';

export interface APIService extends KubeObject {
  spec: {
    group?: string;
    version?: string;
    groupPriorityMinimum?: number;
    versionPriority?: number;
    service?: { namespace?: string; name?: string; port?: number };
    caBundle?: string;
    insecureSkipTLSVerify?: boolean;
  };
  status: { conditions?: Condition[] };
}

const MAX_GROUP_PRIORITY = 20_000;
const MAX_VERSION_PRIORITY = 1000;

export const apiservices = define<APIService>({
  group: 'apiregistration.k8s.io',
  kind: 'APIService',
  plural: 'apiservices',
  categories: ['api-extensions'],
  namespaced: false,
  parts: ['spec', 'status'],
  name: (name) => isPathSegmentName(name),
  subresources: statusOf('apiregistration.k8s.io', 'v1', 'APIService'),
  table: [
    nameColumn,
    {
      name: 'Service',
      description: 'The reference to the service that hosts this API endpoint.',
      cell: ({ spec }) =>
        spec.service === undefined ? 'Local' : `${spec.service.namespace ?? ''}/${spec.service.name ?? ''}`,
    },
    {
      name: 'Available',
      description: 'Whether this service is available.',
      cell: ({ status }) => {
        const condition = status.conditions?.find(({ type }) => type === 'Available');
        if (condition === undefined) return 'Unknown';
        return condition.status === 'True' ? 'True' : `${condition.status} (${condition.reason})`;
      },
    },
    ageColumn,
  ],
  defaults({ spec }) {
    if (spec.service !== undefined) spec.service.port ??= 443;
  },
  prepareForCreate(object, { now }) {
    object.status = object.spec.service === undefined ? { conditions: [localCondition(now)] } : {};
  },
  validate,
  validateStatusUpdate: ({ status }) =>
    (status.conditions ?? []).flatMap((condition, i) =>
      ['True', 'False', 'Unknown'].includes(condition.status)
        ? []
        : [
            fieldError.notSupported(`status.conditions[${i}].status`, condition.status, [
              'True',
              'False',
              'Unknown',
            ]),
          ],
    ),
});

/** The condition of groups that this server serves itself. */
const localCondition = (now: Date): Condition => ({
  type: 'Available',
  status: 'True',
  lastTransitionTime: timestamp(now),
  reason: 'Local',
  message: 'Local APIServices are always available',
});

function validate({ metadata, spec }: APIService): FieldError[] {
  const { group = '', version = '', groupPriorityMinimum: priority = 0, versionPriority = 0 } = spec;
  const name = `${version}.${group}`;
  return [
    ...(metadata.name === name || isPathSegmentName(metadata.name ?? '').length > 0
      ? []
      : [
          fieldError.invalid(
            'metadata.name',
            metadata.name ?? '',
            `must be \`spec.version+"."+spec.group\`: ${JSON.stringify(name)}`,
          ),
        ]),
    ...(group === '' && version !== 'v1'
      ? [fieldError.required('spec.group', 'only v1 may have an empty group and it better be legacy kube')]
      : []),
    ...(group === '' ? [] : named('spec.group', group, isDNS1123Subdomain(group))),
    ...named('spec.version', version, isDNS1035Label(version)),
    ...(priority <= 0 || priority > MAX_GROUP_PRIORITY
      ? [fieldError.invalid('spec.groupPriorityMinimum', priority, 'must be positive and less than 20000')]
      : []),
    ...(versionPriority <= 0 || versionPriority > MAX_VERSION_PRIORITY
      ? [fieldError.invalid('spec.versionPriority', versionPriority, 'must be positive and less than 1000')]
      : []),
    ...validateService(spec),
  ];
}

function validateService({
  service,
  caBundle = '',
  insecureSkipTLSVerify = false,
}: APIService['spec']): FieldError[] {
  const insecure = (detail: string): FieldError[] =>
    insecureSkipTLSVerify ? [fieldError.invalid('spec.insecureSkipTLSVerify', true, detail)] : [];
  if (service === undefined) {
    const bytes = Buffer.from(caBundle, 'base64').length;
    return [
      ...(bytes > 0
        ? [fieldError.invalid('spec.caBundle', `${bytes} bytes`, 'local APIServices may not have a caBundle')]
        : []),
      ...insecure('local APIServices may not have insecureSkipTLSVerify'),
    ];
  }
  const port = service.port ?? 0;
  return [
    ...required('spec.service.namespace', service.namespace),
    ...required('spec.service.name', service.name),
    ...isPortNumber(port).map((message) =>
      fieldError.invalid('spec.service.port', port, `port is not valid: ${message}`),
    ),
    ...(caBundle === '' ? [] : insecure('may not be true if caBundle is present')),
  ];
}
