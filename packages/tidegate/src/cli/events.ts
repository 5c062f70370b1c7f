/** Events of an object, as `tidegate describe` prints them. */
import { humanDuration, type KubeClient, type KubeObject, type Resource, textTable } from '@tidegate/kube';

/** The fields of an event that are printed. */
export interface ShownEvent extends KubeObject {
  type?: string;
  reason?: string;
  message?: string;
  lastTimestamp?: string | null;
  eventTime?: string | null;
  source?: { component?: string };
  reportingComponent?: string;
}

const EVENTS: Resource<ShownEvent> = { group: '', version: 'v1', resource: 'events', namespaced: true };

export async function readEvents(
  client: KubeClient,
  kind: string,
  { metadata: { name, namespace } }: KubeObject,
): Promise<ShownEvent[]> {
  const fieldSelector = `involvedObject.kind=${kind},involvedObject.name=${name}`;
  return (await client.list(EVENTS, { fieldSelector, ...(namespace && { namespace }) })).items;
}

export function eventTable(events: readonly ShownEvent[], now: number): string {
  const timeOf = ({ lastTimestamp, eventTime, metadata }: ShownEvent): number =>
    Date.parse(lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? '');
  const rows = events
    .toSorted((a, b) => timeOf(a) - timeOf(b))
    .map((event) => [
      event.type ?? '',
      event.reason ?? '',
      humanDuration(now - timeOf(event)),
      event.source?.component || event.reportingComponent || '',
      event.message ?? '',
    ]);
  return textTable([['Type', 'Reason', 'Age', 'From', 'Message'], ...rows])
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n');
}
