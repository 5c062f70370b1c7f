/** Validation of pods and pod templates. */
import { type FieldError, fieldError } from '@tidegate/serving';
import { each, inRange, MAX_INT32, named, oneOf, supported } from '../validation/checks.ts';
import { INVALID_IP, isAddress } from '../validation/ip.ts';
import { validateAnnotations } from '../validation/metadata.ts';
import {
  isDNS1123Label,
  isDNS1123Subdomain,
  isDNS1123SubdomainWithUnderscore,
  isLabelKey,
} from '../validation/names.ts';
import { validateLabels } from '../validation/selectors.ts';
import { validateContainers, validateInitContainers } from './containers.ts';
import { validateAffinity, validateSpread, validateTolerations } from './scheduling.ts';
import type { Pod, PodSpec, PodTemplateSpec } from './types.ts';
import { validateVolumes } from './volumes.ts';

const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror';
const MAX_NAMESERVERS = 3;
const MAX_SEARCHES = 32;

export function validatePod(pod: Pod, old?: Pod): FieldError[] {
  const { metadata, spec } = pod;
  const isNew = old === undefined;
  const mirror = metadata.annotations?.[MIRROR_ANNOTATION];
  return [
    ...(mirror !== undefined && !spec.nodeName
      ? [
          fieldError.invalid(
            `metadata.annotations[${MIRROR_ANNOTATION}]`,
            mirror,
            'must set spec.nodeName if mirror pod annotation is set',
          ),
        ]
      : []),
    ...validatePodSpec(spec, 'spec', true),
    ...whitespaceInImages(spec),
    ...(isNew && (spec.ephemeralContainers ?? []).length > 0
      ? [fieldError.forbidden('spec.ephemeralContainers', 'cannot be set on create')]
      : []),
    ...(isNew && spec.nodeName && (spec.schedulingGates ?? []).length > 0
      ? [fieldError.forbidden('spec.nodeName', 'cannot be set until all schedulingGates have been cleared')]
      : []),
  ];
}

/** Only pods reject whitespace around image names; kube-apiserver allows it in templates for compatibility. */
function whitespaceInImages(spec: PodSpec): FieldError[] {
  const detail = 'must not have leading or trailing whitespace';
  return (['containers', 'initContainers'] as const).flatMap((list) =>
    each(`spec.${list}`, spec[list], ({ image = '' }, at) =>
      image.trim() === image ? [] : [fieldError.invalid(`${at}.image`, image, detail)],
    ),
  );
}

export function validatePodTemplate(template: PodTemplateSpec, path: string): FieldError[] {
  const { metadata = {}, spec = {} } = template;
  return [
    ...validateLabels(metadata.labels, `${path}.labels`),
    ...validateAnnotations(metadata.annotations, `${path}.annotations`),
    ...validatePodSpec(spec, `${path}.spec`, false),
    ...((spec.ephemeralContainers ?? []).length > 0
      ? [
          fieldError.forbidden(
            `${path}.spec.ephemeralContainers`,
            'ephemeral containers not allowed in pod template',
          ),
        ]
      : []),
  ];
}

/**
 * Validates the spec of a pod, or of a template in another kind. `isPod` enables the checks that templates do not
 * have.
 */
export function validatePodSpec(spec: PodSpec, path: string, isPod: boolean): FieldError[] {
  const volumes = new Set((spec.volumes ?? []).map((volume) => volume.name ?? ''));
  return [
    ...validateVolumes(spec.volumes, `${path}.volumes`),
    ...validateContainers(spec, volumes, path),
    ...validateInitContainers(spec, volumes, path),
    ...validateHostNetwork(spec, path, isPod),
    ...oneOf(`${path}.restartPolicy`, spec.restartPolicy, ['Always', 'OnFailure', 'Never']),
    ...oneOf(`${path}.dnsPolicy`, spec.dnsPolicy, [
      'ClusterFirstWithHostNet',
      'ClusterFirst',
      'Default',
      'None',
    ]),
    ...validateLabels(spec.nodeSelector, `${path}.nodeSelector`),
    ...validateSecurity(spec, `${path}.securityContext`),
    ...validateAffinity(spec.affinity, `${path}.affinity`),
    ...validateDns(spec, `${path}.dnsConfig`),
    ...each(`${path}.readinessGates`, spec.readinessGates, ({ conditionType = '' }, at) =>
      named(`${at}.conditionType`, conditionType, isLabelKey(conditionType)),
    ),
    ...validateGates(spec, `${path}.schedulingGates`),
    ...validateSpread(spec.topologySpreadConstraints, `${path}.topologySpreadConstraints`),
    ...validateNames(spec, path),
    ...validateTolerations(spec.tolerations, `${path}.tolerations`),
    ...validateRest(spec, path),
  ];
}

function validateHostNetwork(spec: PodSpec, path: string, isPod: boolean): FieldError[] {
  if (spec.hostNetwork !== true) return [];
  return each(`${path}.containers`, spec.containers, ({ ports }, at) =>
    each(`${at}.ports`, ports, ({ hostPort = 0, containerPort = 0 }, portPath) =>
      (isPod || hostPort !== 0) && hostPort !== containerPort
        ? [
            fieldError.invalid(
              `${portPath}.hostPort`,
              hostPort,
              'must match `containerPort` when `hostNetwork` is true',
            ),
          ]
        : [],
    ),
  );
}

function validateSecurity(spec: PodSpec, path: string): FieldError[] {
  const { fsGroup, runAsUser, runAsGroup, supplementalGroups } = spec.securityContext ?? {};
  return [
    ...inRange(`${path}.fsGroup`, fsGroup, 0, MAX_INT32),
    ...inRange(`${path}.runAsUser`, runAsUser, 0, MAX_INT32),
    ...inRange(`${path}.runAsGroup`, runAsGroup, 0, MAX_INT32),
    ...each(`${path}.supplementalGroups`, supplementalGroups, (group, at) =>
      inRange(at, group, 0, MAX_INT32),
    ),
    ...(spec.shareProcessNamespace === true && spec.hostPID === true
      ? [
          fieldError.invalid(
            `${path}.shareProcessNamespace`,
            true,
            'ShareProcessNamespace and HostPID cannot both be enabled',
          ),
        ]
      : []),
  ];
}

function validateDns({ dnsPolicy, dnsConfig }: PodSpec, path: string): FieldError[] {
  if (dnsPolicy === 'None') {
    const because = 'when `dnsPolicy` is None';
    if (dnsConfig === undefined) return [fieldError.required(path, `must provide \`dnsConfig\` ${because}`)];
    if ((dnsConfig.nameservers ?? []).length === 0) {
      const detail = `must provide at least one DNS nameserver ${because}`;
      return [fieldError.required(`${path}.nameservers`, detail)];
    }
  }
  const { nameservers = [], searches = [], options } = dnsConfig ?? {};
  const tooMany = (field: string, value: string[], max: number, what: string): FieldError[] =>
    value.length > max
      ? [fieldError.invalid(`${path}.${field}`, value, `must not have more than ${max} ${what}`)]
      : [];
  return [
    ...tooMany('nameservers', nameservers, MAX_NAMESERVERS, 'nameservers'),
    ...each(`${path}.nameservers`, nameservers, (ip, at) =>
      isAddress(ip) ? [] : [fieldError.invalid(at, ip, INVALID_IP)],
    ),
    ...tooMany('searches', searches, MAX_SEARCHES, 'search paths'),
    ...each(`${path}.searches`, searches, (search, at) => {
      const name = search === '.' ? 'a' : search.replace(/\.$/, '');
      return named(at, name, isDNS1123SubdomainWithUnderscore(name));
    }),
    ...each(`${path}.options`, options, ({ name }, at) =>
      name ? [] : [fieldError.required(at, 'must not be empty')],
    ),
  ];
}

function validateGates(spec: PodSpec, path: string): FieldError[] {
  const seen = new Set<string>();
  return each(path, spec.schedulingGates, ({ name = '' }, at) => {
    const duplicate = seen.has(name) ? [fieldError.duplicate(at, name)] : [];
    seen.add(name);
    return [...named(at, name, isLabelKey(name)), ...duplicate];
  });
}

function validateNames(spec: PodSpec, path: string): FieldError[] {
  const check = (field: 'serviceAccountName' | 'nodeName', rule: (name: string) => string[]): FieldError[] =>
    spec[field] ? named(`${path}.${field}`, spec[field], rule(spec[field])) : [];
  return [
    ...check('serviceAccountName', isDNS1123Subdomain),
    ...check('nodeName', isDNS1123Subdomain),
    ...inRange(`${path}.activeDeadlineSeconds`, spec.activeDeadlineSeconds, 1, MAX_INT32),
    ...(spec.hostname ? named(`${path}.hostname`, spec.hostname, isDNS1123Label(spec.hostname)) : []),
    ...(spec.subdomain ? named(`${path}.subdomain`, spec.subdomain, isDNS1123Label(spec.subdomain)) : []),
  ];
}

function validateRest(spec: PodSpec, path: string): FieldError[] {
  const { priorityClassName, runtimeClassName, preemptionPolicy, os } = spec;
  return [
    ...each(`${path}.hostAliases`, spec.hostAliases, ({ ip = '', hostnames }, at) => [
      ...(isAddress(ip) ? [] : [fieldError.invalid(`${at}.ip`, ip, INVALID_IP)]),
      ...each(`${at}.hostnames`, hostnames, (name, namePath) =>
        named(namePath, name, isDNS1123Subdomain(name)),
      ),
    ]),
    ...(priorityClassName
      ? named(`${path}.priorityClassName`, priorityClassName, isDNS1123Subdomain(priorityClassName))
      : []),
    ...(runtimeClassName !== undefined
      ? named(`${path}.runtimeClassName`, runtimeClassName, isDNS1123Subdomain(runtimeClassName))
      : []),
    ...supported(`${path}.preemptionPolicy`, preemptionPolicy, ['PreemptLowerPriority', 'Never']),
    ...(os === undefined
      ? []
      : os.name
        ? supported(`${path}.os`, os.name, ['linux', 'windows'])
        : [fieldError.required(`${path}.os.name`)]),
  ];
}
