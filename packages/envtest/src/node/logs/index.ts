/**
 * Logs of containers. A process appends to `<attempt>.log` by itself, so that its output survives the agent. While it
 * runs, `OpenLog` watches the file: each time it has grown, its size and the moment go into `<attempt>.times`; when it is
 * large it is copied to `<attempt>.log.1` and emptied. Reading finds the stretches that the options choose by these times
 * and by counting lines backwards; following goes on from there, woken by the same watch.
 */
export { FileLogs } from './file-logs.ts';
