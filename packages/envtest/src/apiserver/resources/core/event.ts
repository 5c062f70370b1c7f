/**
 * Events are served in two groups, core and events.k8s.io, with one storage. They are stored in the form of the core
 * group.
 */
import type { KubeObject } from '@tidegate/kube';
import { builtinSchema } from '../../schema/builtin.ts';
import { type Authored, define } from '../define.ts';
import { nameColumn, since, type Table } from '../table.ts';
import { nameIsSubdomain } from '../validation/names.ts';
import type { Event } from './types.ts';
import { validateEvent, validateGroupedEvent } from './validate-event.ts';

const firstSeen = (event: Event, now: Date): string => since(event.firstTimestamp ?? event.eventTime, now);

const lastSeen = (event: Event, now: Date): string =>
  event.series !== undefined
    ? since(event.series.lastObservedTime, now)
    : since(event.lastTimestamp ?? event.firstTimestamp ?? event.eventTime, now);

function target({ involvedObject = {} }: Event): string {
  const kind = (involvedObject.kind ?? '').toLowerCase();
  return involvedObject.name ? `${kind}/${involvedObject.name}` : kind;
}

function source({ source: from = {}, reportingComponent, reportingInstance }: Event): string {
  const component = from.component || reportingComponent || '';
  const instance = from.host || reportingInstance || '';
  return instance === '' ? component : `${component}, ${instance}`;
}

const table: Table<Event> = [
  { name: 'Last Seen', field: 'lastTimestamp', cell: lastSeen },
  { name: 'Type', field: 'type', cell: ({ type }) => type ?? '' },
  { name: 'Reason', field: 'reason', cell: ({ reason }) => reason ?? '' },
  { name: 'Object', field: 'involvedObject', cell: target },
  {
    name: 'Subobject',
    wide: true,
    field: 'involvedObject.fieldPath',
    cell: ({ involvedObject }) => involvedObject?.fieldPath ?? '',
  },
  { name: 'Source', wide: true, field: 'source', cell: source },
  { name: 'Message', field: 'message', cell: ({ message }) => (message ?? '').trim() },
  { name: 'First Seen', wide: true, field: 'firstTimestamp', cell: firstSeen },
  { name: 'Count', wide: true, field: 'count', cell: ({ series, count }) => series?.count ?? (count || 1) },
  { ...nameColumn, wide: true },
];

const common: Authored<Event> = {
  kind: 'Event',
  plural: 'events',
  shortNames: ['ev'],
  storage: 'events',
  createOnUpdate: true,
  name: nameIsSubdomain,
  table,
  defaults(event) {
    event.involvedObject ??= {};
    event.source ??= {};
    event.firstTimestamp ??= null;
    event.lastTimestamp ??= null;
    event.eventTime ??= null;
    event.reportingComponent ??= '';
    event.reportingInstance ??= '';
  },
  validate: validateEvent,
};

export const events = define<Event>({
  ...common,
  selectableFields: (event) => ({
    ...about(event, 'involvedObject'),
    'involvedObject.apiVersion': event.involvedObject?.apiVersion ?? '',
    reason: event.reason ?? '',
    reportingComponent: event.reportingComponent ?? '',
    source: event.source?.component || (event.reportingComponent ?? ''),
    type: event.type ?? '',
  }),
});

export const groupedEvents = define<Event>({
  ...common,
  group: 'events.k8s.io',
  documentation: () => builtinSchema('v1', 'Event'),
  validate: validateGroupedEvent,
  selectableFields: (event) => ({
    ...about(event, 'regarding'),
    reason: event.reason ?? '',
    reportingController: event.reportingComponent ?? '',
    type: event.type ?? '',
  }),
  conversion: {
    toStorage({ regarding, note, reportingController, ...event }) {
      const {
        deprecatedSource,
        deprecatedFirstTimestamp,
        deprecatedLastTimestamp,
        deprecatedCount,
        ...rest
      } = event;
      return defined({
        ...rest,
        apiVersion: 'v1',
        involvedObject: regarding,
        message: note,
        reportingComponent: reportingController,
        source: deprecatedSource,
        firstTimestamp: deprecatedFirstTimestamp,
        lastTimestamp: deprecatedLastTimestamp,
        count: deprecatedCount,
      });
    },
    fromStorage({ involvedObject, message, reportingComponent, ...event }) {
      const { source: deprecatedSource, firstTimestamp, lastTimestamp, count, ...rest } = event;
      return defined({
        ...rest,
        apiVersion: 'events.k8s.io/v1',
        regarding: involvedObject,
        note: message,
        reportingController: reportingComponent || undefined,
        reportingInstance: event.reportingInstance || undefined,
        deprecatedSource,
        deprecatedFirstTimestamp: firstTimestamp,
        deprecatedLastTimestamp: lastTimestamp,
        deprecatedCount: count,
      });
    },
  },
});

function about({ involvedObject = {} }: Event, prefix: string): Record<string, string> {
  const fields = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'] as const;
  return Object.fromEntries(fields.map((field) => [`${prefix}.${field}`, involvedObject[field] ?? '']));
}

function defined(object: KubeObject): KubeObject {
  for (const [key, value] of Object.entries(object)) if (value === undefined) delete object[key];
  return object;
}
