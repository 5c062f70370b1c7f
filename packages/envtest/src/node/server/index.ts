/**
 * The HTTPS server of a node, on the port that its Node object names; mainly for the logs of its containers.
 *
 * One `kubectl logs`: the API server authorizes the user -> it connects to this server with its own client
 * certificate (`server.ts`) -> `container-logs.ts` parses the request -> `logs/` reads the files. `certificate.ts`
 * obtains and renews the serving certificate.
 */
export { startKubeletServer } from './server.ts';
