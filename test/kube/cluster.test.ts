/**
 * All of Tidegate on a real Kubernetes with kubelets and containers. There is one cluster for all suites, because it takes longer
 * to start than each of them. Each hook has its own time limit.
 */
import { afterAll, beforeAll, describe } from 'vitest';
import { story } from '../story/story.ts';
import { RealCluster } from './cluster/cluster.ts';
import { installTidegate } from './cluster/install.ts';
import { applications } from './suites/applications.ts';
import { containers } from './suites/containers.ts';
import { endpoints } from './suites/endpoints.ts';
import { managers } from './suites/managers.ts';
import { monitoring } from './suites/monitoring.ts';
import { oldestVersion } from './suites/oldest-version.ts';
import { IMAGES, RealWorld, SITES } from './suites/real-world.ts';
import { services } from './suites/services.ts';
import { withoutFreeNode } from './suites/without-free-node.ts';

let cluster: RealCluster;
beforeAll(async () => {
  cluster = await RealCluster.create(SITES, IMAGES);
});
beforeAll(() => cluster.startCloud());
// Before there are other nodes. Later, the nodes of pools are excluded.
beforeAll(() => installTidegate(cluster));
beforeAll(() => cluster.startSites());
// The manager approves the certificates of the hubs.
beforeAll(async () => {
  await Promise.all(cluster.edge.map((node) => node.useHub()));
});
afterAll(() => cluster?.stop());

describe('the story, on a real Kubernetes', () => story('real', () => RealWorld.open(cluster)));
describe('endpoints that do not answer', () => endpoints(() => cluster));
describe('containers', () => containers(() => cluster));
describe('a real Prometheus', () => monitoring(() => cluster));
describe('Services of routers', () => services(() => cluster));
describe('applications', () => applications(() => cluster));
describe('the oldest supported version', () => oldestVersion(() => cluster));
describe('managers', () => managers(() => cluster));
describe('a cluster without a node outside of pools', () => withoutFreeNode(() => cluster));
