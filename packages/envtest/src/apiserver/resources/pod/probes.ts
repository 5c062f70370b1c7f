/** Validation of probes and lifecycle handlers. */
import { type FieldError, fieldError } from '@tidegate/serving';
import { named, nonNegative, required, supported } from '../validation/checks.ts';
import { isHttpHeaderName, isPortName, isPortNumber } from '../validation/names.ts';
import type { Container, Handler, HTTPGetAction, IntOrString, Probe } from './types.ts';

export function validatePort(path: string, port: IntOrString | undefined): FieldError[] {
  if (typeof port === 'string') return named(path, port, isPortName(port));
  return isPortNumber(port ?? 0).map((message) => fieldError.invalid(path, port ?? 0, message));
}

function validateHttpGet(http: HTTPGetAction, path: string): FieldError[] {
  return [
    ...required(`${path}.path`, http.path),
    ...validatePort(`${path}.port`, http.port),
    ...supported(`${path}.scheme`, http.scheme, ['HTTP', 'HTTPS']),
    ...(http.httpHeaders ?? []).flatMap(({ name = '' }) =>
      named(`${path}.httpHeaders`, name, isHttpHeaderName(name)),
    ),
  ];
}

/** Exactly one handler type is allowed. The first one is validated and further ones are rejected. */
export function validateHandler(handler: Handler, gracePeriod: number, path: string): FieldError[] {
  const { exec, httpGet, tcpSocket, grpc, sleep } = handler;
  const checks: [string, FieldError[]][] = [];
  if (exec) {
    const missing = (exec.command ?? []).length === 0;
    checks.push(['exec', missing ? [fieldError.required(`${path}.exec.command`)] : []]);
  }
  if (httpGet) checks.push(['httpGet', validateHttpGet(httpGet, `${path}.httpGet`)]);
  if (tcpSocket) checks.push(['tcpSocket', validatePort(`${path}.tcpSocket.port`, tcpSocket.port)]);
  if (grpc) checks.push(['grpc', validatePort(`${path}.grpc.port`, grpc.port)]);
  if (sleep) checks.push(['sleep', validateSleep(sleep.seconds ?? 0, gracePeriod, `${path}.sleep`)]);
  if (checks.length === 0) return [fieldError.required(path, 'must specify a handler type')];
  return checks.flatMap(([name, errors], i) =>
    i === 0 ? errors : [fieldError.forbidden(`${path}.${name}`, 'may not specify more than 1 handler type')],
  );
}

function validateSleep(seconds: number, gracePeriod: number, path: string): FieldError[] {
  if (seconds >= 0 && seconds <= gracePeriod) return [];
  const detail = `must be non-negative and less than terminationGracePeriodSeconds (${gracePeriod})`;
  return [fieldError.invalid(path, seconds, detail)];
}

function validateProbe(probe: Probe, gracePeriod: number, path: string): FieldError[] {
  const grace = probe.terminationGracePeriodSeconds;
  return [
    ...validateHandler(probe, gracePeriod, path),
    ...nonNegative(`${path}.initialDelaySeconds`, probe.initialDelaySeconds),
    ...nonNegative(`${path}.timeoutSeconds`, probe.timeoutSeconds),
    ...nonNegative(`${path}.periodSeconds`, probe.periodSeconds),
    ...nonNegative(`${path}.successThreshold`, probe.successThreshold),
    ...nonNegative(`${path}.failureThreshold`, probe.failureThreshold),
    ...(grace !== undefined && grace <= 0
      ? [fieldError.invalid(`${path}.terminationGracePeriodSeconds`, grace, 'must be greater than 0')]
      : []),
  ];
}

const succeedsOnce = (probe: Probe, path: string): FieldError[] =>
  probe.successThreshold === 1
    ? []
    : [fieldError.invalid(`${path}.successThreshold`, probe.successThreshold, 'must be 1')];

export function validateProbes(container: Container, gracePeriod: number, path: string): FieldError[] {
  const { lifecycle, livenessProbe, readinessProbe, startupProbe } = container;
  const errors: FieldError[] = [];
  for (const hook of ['postStart', 'preStop'] as const) {
    const handler = lifecycle?.[hook];
    if (handler) errors.push(...validateHandler(handler, gracePeriod, `${path}.lifecycle.${hook}`));
  }
  if (livenessProbe) {
    errors.push(...validateProbe(livenessProbe, gracePeriod, `${path}.livenessProbe`));
    errors.push(...succeedsOnce(livenessProbe, `${path}.livenessProbe`));
  }
  if (readinessProbe) {
    const at = `${path}.readinessProbe`;
    errors.push(...validateProbe(readinessProbe, gracePeriod, at));
    const grace = readinessProbe.terminationGracePeriodSeconds;
    if (grace !== undefined) {
      const detail = 'must not be set for readinessProbes';
      errors.push(fieldError.invalid(`${at}.terminationGracePeriodSeconds`, grace, detail));
    }
  }
  if (startupProbe) {
    errors.push(...validateProbe(startupProbe, gracePeriod, `${path}.startupProbe`));
    errors.push(...succeedsOnce(startupProbe, `${path}.startupProbe`));
  }
  return errors;
}
