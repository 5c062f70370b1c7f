import { type FieldError, fieldError } from '@tidegate/serving';
import { named, required } from '../validation/checks.ts';
import { isLabelKey } from '../validation/names.ts';
import type { Event } from './types.ts';

const MAX_LENGTHS = { reportingInstance: 128, action: 128, reason: 128, message: 1024 } as const;

/** Events with an eventTime follow the new API and must name their reporter. It is optional in the old API. */
export function validateEvent(event: Event): FieldError[] {
  const { metadata, involvedObject = {} } = event;
  const own = metadata.namespace ?? '';
  const about = involvedObject.namespace ?? '';
  const isNew = (event.eventTime ?? null) !== null;
  const clusterScoped = isNew ? ['default', 'kube-system'] : ['', 'default'];
  const mismatch = about === '' ? !clusterScoped.includes(own) : !isNew && own !== about;
  const errors = mismatch
    ? [fieldError.invalid('involvedObject.namespace', about, 'does not match event.namespace')]
    : [];
  return isNew ? [...errors, ...validateNewEvent(event)] : errors;
}

/** Writes through events.k8s.io must follow the new API and must not set deprecated fields. */
export function validateGroupedEvent(event: Event): FieldError[] {
  const unset = (field: string, value: unknown): FieldError[] =>
    value === undefined || value === null || value === 0
      ? []
      : [fieldError.invalid(field, value, 'needs to be unset')];
  const { type = '' } = event;
  return [
    ...validateEvent(event),
    ...((event.eventTime ?? null) === null ? [fieldError.required('eventTime')] : []),
    ...(type === 'Normal' || type === 'Warning'
      ? []
      : [fieldError.invalid('type', '', `has invalid value: ${type}`)]),
    ...unset('firstTimestamp', event.firstTimestamp),
    ...unset('lastTimestamp', event.lastTimestamp),
    ...unset('count', event.count),
  ];
}

function validateNewEvent(event: Event): FieldError[] {
  const { reportingComponent = '', reportingInstance, action, reason } = event;
  return [
    ...required('reportingComponent', reportingComponent),
    ...named('reportingComponent', reportingComponent, isLabelKey(reportingComponent)),
    ...required('reportingInstance', reportingInstance),
    ...atMost(event, 'reportingInstance'),
    ...required('action', action),
    ...atMost(event, 'action'),
    ...required('reason', reason),
    ...atMost(event, 'reason'),
    ...atMost(event, 'message'),
  ];
}

const atMost = (event: Event, field: keyof typeof MAX_LENGTHS): FieldError[] =>
  Buffer.byteLength(event[field] ?? '') > MAX_LENGTHS[field]
    ? [fieldError.invalid(field, '', `can have at most ${MAX_LENGTHS[field]} characters`)]
    : [];
