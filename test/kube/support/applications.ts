/** A real API server, and the part of the manager that deploys applications, with the permissions of deploy/base only. */
import { readFileSync } from 'node:fs';
import type { KubeObject } from '@tidegate/kube';
import { parseAllDocuments } from 'yaml';
import { eventually } from '../../support/cluster.ts';
import { PROGRAM, repositoryFile } from '../../support/repository.ts';
import { ControlPlane, SERVER_ADDRESS, SERVER_URL } from './control-plane.ts';
import { Program } from './program.ts';

/** Of the manager itself: the tests run it in this process group, not in a pod. */
const NOT_PERMISSIONS = ['Deployment', 'PodDisruptionBudget'];
const KINDS = [
  'edgeapplications.apps.kubeedge.io',
  'nodegroups.apps.kubeedge.io',
  'nodepools.apps.openyurt.io',
  'yurtappsets.apps.openyurt.io',
  'yurtappdaemons.apps.openyurt.io',
  'yurtappoverriders.apps.openyurt.io',
];

export class ApplicationsWorld {
  readonly cloud: ControlPlane;
  #manager: Program | undefined;

  constructor(cloud: ControlPlane) {
    this.cloud = cloud;
  }

  static async create(): Promise<ApplicationsWorld> {
    const cloud = await ControlPlane.create({
      controllers: ['clusterrole-aggregation', 'garbagecollector', 'deployment', 'replicaset', 'job'],
    });
    return new ApplicationsWorld(cloud);
  }

  async start(): Promise<void> {
    const { cloud } = this;
    const { kubectl } = cloud;
    await cloud.namespace.addAddress(SERVER_ADDRESS);
    // Packets need a route, also to addresses of the machine itself.
    await cloud.namespace.ip('route', 'add', 'default', 'dev', 'lo');
    await cloud.start();
    for (const namespace of ['tidegate-system', 'tidegate-routers'])
      await kubectl.run(`create namespace ${namespace}`);
    for (const kind of KINDS) await kubectl.run(`apply --validate=false -f deploy/crds/${kind}.yaml`);
    const shipped = parseAllDocuments(readFileSync(repositoryFile('deploy/base/apps.yaml'), 'utf8'))
      .map((document) => document.toJS() as KubeObject)
      .filter(({ kind }) => !NOT_PERMISSIONS.includes(kind));
    await kubectl.apply(...shipped);
  }

  async startManager(): Promise<void> {
    const { cloud } = this;
    const token = await cloud.token('tidegate-system', 'tidegate-apps');
    const kubeconfig = cloud.credentials.kubeconfig('tidegate-apps', SERVER_URL, { token });
    const flags = ['manager', '--parts=apps', '--kubeconfig', kubeconfig, '--admin-port', '8081'];
    this.#manager = new Program(
      cloud.namespace,
      cloud.directory,
      [process.execPath, PROGRAM, ...flags],
      'manager',
    );
    await this.#manager.start(() => cloud.namespace.run('curl', '-sSf', 'http://127.0.0.1:8081/readyz'));
  }

  async remove(): Promise<void> {
    await this.#manager?.stop();
    await this.cloud.remove();
  }

  get<T>(what: string, namespace: string): Promise<T> {
    return this.cloud.kubectl.json<T>(`get ${what} -n ${namespace}`);
  }

  async isGone(what: string): Promise<void> {
    await eventually(
      `${what} is gone`,
      async () => (await this.cloud.kubectl.run(`get ${what} --ignore-not-found`)) === '',
    );
  }

  /** Creates a namespace in which the manager may deploy applications. */
  async grant(namespace: string): Promise<void> {
    await this.cloud.kubectl.run(`create namespace ${namespace}`);
    await this.cloud.kubectl.run(
      `create rolebinding tidegate-apps -n ${namespace} --clusterrole tidegate-apps --serviceaccount tidegate-system:tidegate-apps`,
    );
  }
}
