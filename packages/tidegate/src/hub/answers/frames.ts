import type { ApiError } from '@tidegate/serving';
import type { EventType, Projection, ProjectionEvent } from '../projections/index.ts';
import type { ViewItem } from '../views/index.ts';
import { bytesIn, type Form, typeIn } from './forms.ts';

const FRAME_END = Buffer.from('}\n');

/** One watch event as a line of JSON. The bytes of the object are copied, not decoded. */
export const frameOf = (type: EventType, item: ViewItem, form: Form): Buffer =>
  Buffer.concat([Buffer.from(`{"type":"${type}","object":`), bytesIn(form, item), FRAME_END]);

/** A bookmark with the version of the projection. `annotations` mark the end of the initial events. */
export function bookmarkFrame(
  { view, resourceVersion }: Projection,
  form: Form,
  annotations?: Record<string, string>,
): Buffer {
  const metadata = { resourceVersion, creationTimestamp: null, ...(annotations && { annotations }) };
  const object = { ...typeIn(form, view, 'object'), metadata };
  return Buffer.from(`${JSON.stringify({ type: 'BOOKMARK', object })}\n`);
}

/** An ERROR event, which is how a watch reports an error after its headers were sent. */
export const errorFrame = ({ status }: ApiError): Buffer =>
  Buffer.from(`${JSON.stringify({ type: 'ERROR', object: status })}\n`);

/** By the array of events, which is the same for all watches of a projection, and by form. */
const encoded = new WeakMap<readonly ProjectionEvent[], Map<string, Buffer>>();

/** The frames of events that happened together. Encoded once for all watches of a projection with the same form. */
export function sharedFrames(events: readonly ProjectionEvent[], form: Form): Buffer {
  const byForm = encoded.get(events) ?? new Map<string, Buffer>();
  encoded.set(events, byForm);
  const name = form === 'whole' ? form : form.partialMetadata;
  const frames = byForm.get(name) ?? Buffer.concat(events.map(({ type, item }) => frameOf(type, item, form)));
  byForm.set(name, frames);
  return frames;
}
