/**
 * `tidegate console`: pages that show a cluster, for a browser on the same machine. The pages themselves are
 * `packages/console`; this folder serves them, and the rows that they show.
 *
 * The console has no rights of its own. It reads with the kubeconfig of the user that started it, and everything that it shows
 * is gone when it ends.
 *
 * One row, from the API server to the browser:
 *  1. `server.ts` listens on a loopback address. `guard.ts` refuses requests of other web sites, and `session.ts` those of other
 *     users of the machine. `assets.ts` serves the files of the pages.
 *  2. The page opens one stream (`GET /api/events`, `stream.ts`), and receives all rows, then only changes, as
 *     fast as it reads them.
 *  3. An informer of `feed.ts` receives a changed object. `sources.ts` has what is followed, and `rows.ts` reduces the object to a
 *     row. If the row is a different one now, it is sent with the other changes of the same 50 ms.
 *  4. For an embedded cluster, `link-watch.ts` adds the links.
 */
export { runConsole } from './console.ts';
