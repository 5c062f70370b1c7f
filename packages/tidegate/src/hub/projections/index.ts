/**
 * Projections: views as clients see them, after selection and filtering. Clients with the same filters and the same
 * selection share one projection, so an object is filtered once, however many clients watch it.
 *
 * An EndpointSlice changes: the view notifies its projections -> item-filter.ts selects and filters the object
 * -> projection.ts adds, updates or removes it -> history.ts keeps the event for clients that reconnect -> each watch
 * sends it.
 *
 * A Service changes, and with it what clients may see of its slices: the context of the filters reports the change
 * -> projections.ts notifies all projections -> dependencies.ts finds the slices that depend on the Service -> each is
 * filtered again. If the result differs, that is an event too. It carries the resourceVersion of the *Service*: the
 * slice itself has not changed, but client-go informers treat an update with an unchanged resourceVersion as a resync and
 * do not deliver it to most handlers.
 *
 * The versions that the hub hands out. Because of such events, clients see versions that the object never had in the API
 * server, and a projection can be ahead of its view. Four rules make this safe. A client that resumes a watch with any
 * version either gets every event that it missed (perhaps one of them twice), or 410 Gone, after which it lists again:
 *
 *   1. The version of an object never decreases in a projection, not even if it is hidden and shown again (version.ts,
 *      Projection). Informers ignore or mishandle versions that move back.
 *   2. A resume is looked up in the order in which events were sent, not in the order of their versions (history.ts). An
 *      event that a Service causes may be sent before an older change of the slice itself arrives.
 *   3. A version whose history is not known gives 410: because it was trimmed (history.ts), because the projection that
 *      handed it out was dropped or the filters were reconfigured (floors.ts), or because it was handed out by another
 *      process of the hub (`Projections`, which starts shared views at a random later version).
 *   4. After a relist of the view, a client that knew more than the hub gets 410, because a deletion may be missing from
 *      the difference (`History.relisted`).
 *
 * correction.ts is a step before the filters: while the site is cut off, endpoints follow what kubelets report (site/). A
 * corrected object has a version of the hub, like one that a Service changes.
 *
 * hold.ts is the place of one client in a projection; it moves to another projection when the filter configuration
 * changes. selection.ts evaluates selectors. convergence.test.ts checks the rules with random sequences.
 */
export type { Correction, CorrectionListener } from './correction.ts';
export type { EventType, ProjectionEvent } from './history.ts';
export type { Hold } from './hold.ts';
export type { Projection } from './projection.ts';
export { Projections } from './projections.ts';
export { EVERYTHING, readSelection, type Selection, selectable } from './selection.ts';
