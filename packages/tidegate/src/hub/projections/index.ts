/**
 * Projections: views as clients see them, after selection and filtering. Clients with the same filters and the same
 * selection share one projection, so an object is filtered once, however many clients watch it.
 *
 * An EndpointSlice changes: the view notifies its projections -> sight.ts selects and filters the object
 * -> projection.ts adds, updates or removes it -> history.ts keeps the event for clients that reconnect -> each watch
 * sends it.
 *
 * A Service changes, and with it what clients may see of its slices: the context of the filters reports the change
 * -> projections.ts notifies all projections -> dependencies.ts finds the slices that depend on the Service -> each is
 * filtered again. If the result differs, that is an event too. It carries the resourceVersion of the *Service*: the
 * slice itself has not changed, and client-go informers drop an update whose resourceVersion did not move.
 *
 * So clients see versions that the object never had in the API server. version.ts orders them, and floors.ts and
 * history.ts make sure that a client that reconnects with such a version misses nothing, or is told to list again
 * (410 Gone). hold.ts is one client's place in a projection; it moves to another one when the filter configuration
 * changes. selection.ts evaluates selectors.
 */
export type { EventType, ProjectionEvent } from './history.ts';
export type { Hold } from './hold.ts';
export type { Projection } from './projection.ts';
export { Projections } from './projections.ts';
export { EVERYTHING, readSelection, type Selection, selectable } from './selection.ts';
