/**
 * What a node answers to the API server, on the port that its Node object names: the logs of its containers, above all.
 * `kubectl logs` -> API server, which checks who asks -> here, by its own certificate -> `logs/`.
 */
export { startKubeletServer } from './server.ts';
