/**
 * A Kubernetes API server for tests, in the process of the test: nothing to download, nothing left behind.
 *
 * `startCluster` starts the API server of `./apiserver` on a free port with a temporary data directory. On request it
 * also starts the controllers of `./controllers` (Deployments create pods, a scheduler binds them) and hollow nodes of
 * `./node`, which report pods as running without starting a process.
 *
 * The other entry points are for programs that assemble a cluster themselves: `@tidegate/envtest/apiserver`,
 * `/controllers`, `/node` (with the container processes of `/stand-in`) and `/store`.
 */
export { type Cluster, type ClusterOptions, startCluster } from './cluster.ts';
