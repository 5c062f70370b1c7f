/** Validation of containers and init containers. */
import { type FieldError, fieldError } from '@tidegate/serving';
import { each, inRange, MAX_INT32, named, oneOf, required, supported } from '../validation/checks.ts';
import { isDNS1123Label, isPortName, isPortNumber } from '../validation/names.ts';
import { validateEnv, validateEnvFrom } from './env.ts';
import { internalSecurityContext } from './internal-spec.ts';
import { validateProbes } from './probes.ts';
import { validateRequirements } from './requirements.ts';
import type { Container, ContainerPort, ContainerSecurityContext, PodSpec } from './types.ts';
import { validateMounts } from './volumes.ts';

const SIDECAR_ONLY = 'may not be set for init containers without restartPolicy=Always';
const RESTART_POLICIES = ['Always', 'Never', 'OnFailure'];

function validatePorts(ports: ContainerPort[] | undefined, path: string): FieldError[] {
  const names = new Set<string>();
  return each(path, ports, (port, at) => {
    const { name = '', containerPort = 0, hostPort = 0, protocol } = port;
    const errors: FieldError[] = [];
    if (name !== '') {
      const wrong = named(`${at}.name`, name, isPortName(name));
      if (wrong.length > 0) errors.push(...wrong);
      else if (names.has(name)) errors.push(fieldError.duplicate(`${at}.name`, name));
      names.add(name);
    }
    const number = (field: string, value: number): FieldError[] =>
      isPortNumber(value).map((message) => fieldError.invalid(`${at}.${field}`, value, message));
    if (containerPort === 0) errors.push(fieldError.required(`${at}.containerPort`));
    else errors.push(...number('containerPort', containerPort));
    if (hostPort !== 0) errors.push(...number('hostPort', hostPort));
    return [...errors, ...oneOf(`${at}.protocol`, protocol, ['SCTP', 'TCP', 'UDP'])];
  });
}

function validateSecurity(security: ContainerSecurityContext | undefined, path: string): FieldError[] {
  if (security === undefined) return [];
  const errors = [
    ...inRange(`${path}.runAsUser`, security.runAsUser, 0, MAX_INT32),
    ...inRange(`${path}.runAsGroup`, security.runAsGroup, 0, MAX_INT32),
    ...supported(`${path}.procMount`, security.procMount, ['Default', 'Unmasked']),
    ...validateSeccomp(security.seccompProfile, `${path}.seccompProfile`),
  ];
  if (security.allowPrivilegeEscalation === false) {
    const wrong = (what: string): void =>
      void errors.push(
        fieldError.invalid(
          path,
          internalSecurityContext(security),
          `cannot set \`allowPrivilegeEscalation\` to false and ${what}`,
        ),
      );
    if (security.privileged === true) wrong('`privileged` to true');
    if (security.capabilities?.add?.includes('CAP_SYS_ADMIN')) wrong('`capabilities.Add` CAP_SYS_ADMIN');
  }
  return errors;
}

export function validateSeccomp(
  profile: ContainerSecurityContext['seccompProfile'],
  path: string,
): FieldError[] {
  if (profile === undefined) return [];
  const { type, localhostProfile } = profile;
  const errors = oneOf(`${path}.type`, type, ['Localhost', 'RuntimeDefault', 'Unconfined']);
  if (type === 'Localhost' && localhostProfile === undefined) {
    errors.push(
      fieldError.required(`${path}.localhostProfile`, 'must be set when seccomp type is Localhost'),
    );
  } else if (type !== 'Localhost' && localhostProfile !== undefined) {
    errors.push(
      fieldError.invalid(
        `${path}.localhostProfile`,
        profile,
        'can only be set when seccomp type is Localhost',
      ),
    );
  }
  return errors;
}

function validateCommon(container: Container, volumes: ReadonlySet<string>, path: string): FieldError[] {
  const { name = '' } = container;
  return [
    ...(name === ''
      ? [fieldError.required(`${path}.name`)]
      : named(`${path}.name`, name, isDNS1123Label(name))),
    ...required(`${path}.image`, container.image),
    ...oneOf(`${path}.terminationMessagePolicy`, container.terminationMessagePolicy, [
      'File',
      'FallbackToLogsOnError',
    ]),
    ...validatePorts(container.ports, `${path}.ports`),
    ...validateEnv(container.env, `${path}.env`),
    ...validateEnvFrom(container.envFrom, `${path}.envFrom`),
    ...validateMounts(container, volumes, path),
    ...oneOf(`${path}.imagePullPolicy`, container.imagePullPolicy, ['Always', 'IfNotPresent', 'Never']),
    ...validateRequirements(container.resources, `${path}.resources`),
    ...validateSecurity(container.securityContext, `${path}.securityContext`),
  ];
}

function validateHostPorts(containers: Container[], path: string): FieldError[] {
  const seen = new Set<string>();
  return each(path, containers, ({ ports }, at) =>
    each(`${at}.ports`, ports, ({ hostPort = 0, hostIP = '', protocol = '' }, portPath) => {
      const key = `${protocol}/${hostIP}/${hostPort}`;
      if (hostPort === 0 || !seen.has(key)) {
        seen.add(key);
        return [];
      }
      return [fieldError.duplicate(`${portPath}.hostPort`, key)];
    }),
  );
}

export function validateContainers(spec: PodSpec, volumes: ReadonlySet<string>, path: string): FieldError[] {
  const { containers = [] } = spec;
  const at = `${path}.containers`;
  if (containers.length === 0) return [fieldError.required(at)];
  const names = new Set<string>();
  const errors = each(at, containers, (container, containerPath) => {
    const { name = '' } = container;
    const duplicate = names.has(name) ? [fieldError.duplicate(`${containerPath}.name`, name)] : [];
    names.add(name);
    return [
      ...validateCommon(container, volumes, containerPath),
      ...duplicate,
      ...validateProbes(container, spec.terminationGracePeriodSeconds ?? 0, containerPath),
      ...supported(`${containerPath}.restartPolicy`, container.restartPolicy, RESTART_POLICIES),
    ];
  });
  return [...errors, ...validateHostPorts(containers, at)];
}

export function validateInitContainers(
  spec: PodSpec,
  volumes: ReadonlySet<string>,
  path: string,
): FieldError[] {
  const names = new Set((spec.containers ?? []).map((container) => container.name ?? ''));
  const at = `${path}.initContainers`;
  return each(at, spec.initContainers, (container, containerPath) => {
    const { name = '' } = container;
    const duplicate = names.has(name) ? [fieldError.duplicate(`${containerPath}.name`, name)] : [];
    if (name !== '') names.add(name);
    const sidecar = container.restartPolicy === 'Always';
    const probes = ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'] as const;
    return [
      ...validateCommon(container, volumes, containerPath),
      ...supported(`${containerPath}.restartPolicy`, container.restartPolicy, RESTART_POLICIES),
      ...duplicate,
      ...validateHostPorts([container], at),
      ...(sidecar
        ? validateProbes(container, spec.terminationGracePeriodSeconds ?? 0, containerPath)
        : probes
            .filter((field) => container[field] !== undefined)
            .map((field) => fieldError.forbidden(`${containerPath}.${field}`, SIDECAR_ONLY))),
    ];
  });
}
