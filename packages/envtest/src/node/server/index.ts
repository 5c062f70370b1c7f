/**
 * The HTTPS server of a node, on the port that its Node object names: logs, and streams to and from containers.
 *
 * One `kubectl logs`: the API server authorizes the user -> it connects to this server with its own client
 * certificate (`server.ts`) -> `container-logs.ts` parses the request -> `logs/` reads the files. `certificate.ts`
 * obtains and renews the serving certificate.
 *
 * One `kubectl exec`: the API server passes the connection on -> `streams/upgrade.ts` switches to WebSocket or SPDY
 * (`spdy/`) -> `websocket-channels.ts` or `spdy-channels.ts` turns it into streams -> `exec.ts` runs the command.
 */
export { startKubeletServer } from './server.ts';
