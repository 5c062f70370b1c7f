/**
 * The logs of containers.
 *
 * A process appends to `<attempt>.log` by itself, so that its output survives the agent. While it runs, `OpenLog`
 * watches the file: whenever it has grown, its size and the time are appended to `<attempt>.times`; when it is
 * large, it is copied to `<attempt>.log.1` and truncated.
 *
 * One `kubectl logs --tail 10 --follow`: `FileLogs.read` -> `reading.ts` finds the start of the last lines, by time
 * (`times.ts`) and by counting lines backwards -> `format.ts` adds timestamps -> following continues from there,
 * woken by `OpenLog`.
 */
export { FileLogs } from './file-logs.ts';
