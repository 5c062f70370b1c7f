/**
 * Projections: views as the filters let clients see them. Everything is shared by all clients that see the same.
 *
 * A change of an EndpointSlice, and one of its Service:
 *   the view tells its projections -> sight.ts selects and filters -> projection.ts shows, changes or hides the object
 *   -> history.ts remembers the event for clients that come back -> every watch sends it.
 *   The context of the filters tells that the Service is another one -> projections.ts passes it on -> dependencies.ts
 *   knows the slices that hang on it -> each is looked at again, and if it looks different that is an event too, under the
 *   version of the Service.
 */
export type { EventType, ProjectionEvent } from './history.ts';
export type { Hold } from './hold.ts';
export type { Projection } from './projection.ts';
export { Projections } from './projections.ts';
