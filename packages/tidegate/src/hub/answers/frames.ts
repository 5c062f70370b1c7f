import type { ApiError } from '@tidegate/serving';
import type { EventType, Projection, ProjectionEvent } from '../projections/index.ts';
import type { ViewItem } from '../views/index.ts';
import { bytesIn, type Form, typeIn } from './forms.ts';

const FRAME_END = Buffer.from('}\n');

export const frameOf = (type: EventType, item: ViewItem, form: Form): Buffer =>
  Buffer.concat([Buffer.from(`{"type":"${type}","object":`), bytesIn(form, item), FRAME_END]);

export function bookmarkFrame(
  { view, resourceVersion }: Projection,
  form: Form,
  annotations?: Record<string, string>,
): Buffer {
  const metadata = { resourceVersion, creationTimestamp: null, ...(annotations && { annotations }) };
  const object = { ...typeIn(form, view, 'object'), metadata };
  return Buffer.from(`${JSON.stringify({ type: 'BOOKMARK', object })}\n`);
}

export const errorFrame = ({ status }: ApiError): Buffer =>
  Buffer.from(`${JSON.stringify({ type: 'ERROR', object: status })}\n`);

const made = new WeakMap<readonly ProjectionEvent[], Map<string, Buffer>>();

/** Events that came together. The bytes are made once for all watches of the projection that send the same form. */
export function sharedFrames(events: readonly ProjectionEvent[], form: Form): Buffer {
  const byForm = made.get(events) ?? new Map<string, Buffer>();
  made.set(events, byForm);
  const name = form === 'whole' ? form : form.partialMetadata;
  const frames = byForm.get(name) ?? Buffer.concat(events.map(({ type, item }) => frameOf(type, item, form)));
  byForm.set(name, frames);
  return frames;
}
