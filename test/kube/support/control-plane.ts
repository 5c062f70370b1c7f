import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Kubectl } from '../../support/kubectl.ts';
import { run } from '../../support/process.ts';
import { repositoryFile } from '../../support/repository.ts';
import { Credentials } from './credentials.ts';
import { Namespace } from './namespace.ts';
import { Program } from './program.ts';

export const SERVER_ADDRESS = '10.99.0.1';
export const SERVER_URL = `https://${SERVER_ADDRESS}:6443`;
/** The first address of the range below, which the API server assigns to the Service default/kubernetes. */
export const KUBERNETES_CLUSTER_IP = '10.96.0.1';
const SERVICE_RANGE = '10.96.0.0/16';
const ETCD_URL = 'http://127.0.0.1:2379';

/** With real kubelets, everything runs. Nodes count as lost early, because a test waits for that. */
const FOR_KUBELETS = {
  controllers: '*,bootstrapsigner,tokencleaner',
  'node-monitor-grace-period': '20s',
  'use-service-account-credentials': 'true',
};

/** The controllers that work without kubelets and without a cloud provider. */
const CONTROLLERS = [
  'endpointslice',
  'serviceaccount',
  'serviceaccount-token',
  'root-ca-cert-publisher',
  'csrsigning',
  'namespace',
];

/**
 * The directory of the Kubernetes programs. The first call on a machine builds them, which takes ten minutes.
 */
async function kubernetesPrograms(): Promise<string> {
  return (await run([repositoryFile('scripts/build-kubernetes')])).trim();
}

/** A real Kubernetes control plane in a network namespace of its own. */
export class ControlPlane {
  readonly directory: string;
  readonly namespace: Namespace;
  readonly programs: string;
  readonly credentials: Credentials;
  /** kubectl of the administrator, directly to the API server. */
  readonly kubectl: Kubectl;
  readonly adminKubeconfig: string;
  readonly #etcd: Program;
  readonly #apiServer: Program;
  readonly #controllerManager: Program;
  readonly #scheduler: Program | undefined;

  private constructor(
    directory: string,
    namespace: Namespace,
    programs: string,
    { hasKubelets, controllers }: { hasKubelets: boolean; controllers: readonly string[] },
  ) {
    this.directory = directory;
    this.namespace = namespace;
    this.programs = programs;
    this.credentials = new Credentials(directory);
    this.adminKubeconfig = this.credentials.kubeconfig(
      'admin',
      SERVER_URL,
      this.credentials.client('admin', 'system:masters'),
    );
    this.kubectl = new Kubectl(this.adminKubeconfig, namespace.wrapper);
    this.#etcd = this.program('etcd', {
      'data-dir': join(directory, 'etcd'),
      'listen-client-urls': ETCD_URL,
      'advertise-client-urls': ETCD_URL,
    });
    const forKubelets = hasKubelets ? this.#apiServerForKubelets() : {};
    this.#apiServer = this.program('kube-apiserver', { ...this.#apiServerOptions(), ...forKubelets });
    this.#controllerManager = this.program('kube-controller-manager', {
      ...this.#controllerManagerOptions([...CONTROLLERS, ...controllers]),
      ...(hasKubelets && FOR_KUBELETS),
    });
    const scheduler = { kubeconfig: this.adminKubeconfig, 'leader-elect': 'false', port: '0' };
    this.#scheduler = hasKubelets ? this.program('kube-scheduler', scheduler) : undefined;
  }

  /** Without kubelets, nodes and pods are objects whose status a test writes. `controllers`: run these as well. */
  static async create({
    hasKubelets = false,
    controllers = [],
  }: {
    hasKubelets?: boolean;
    controllers?: readonly string[];
  } = {}): Promise<ControlPlane> {
    const programs = await kubernetesPrograms();
    const directory = await mkdtemp(join(tmpdir(), 'kube-'));
    return new ControlPlane(directory, await Namespace.create('cloud'), programs, {
      hasKubelets,
      controllers,
    });
  }

  async start(): Promise<void> {
    await this.#etcd.start(() => this.namespace.run('curl', '-sSf', `${ETCD_URL}/health`));
    await this.startApiServer();
    await this.#controllerManager.start(() => this.kubectl.run('get serviceaccount default'));
    await this.#scheduler?.start(async () => {});
  }

  startApiServer(): Promise<void> {
    return this.#apiServer.start(() => this.kubectl.run('get --raw /readyz'));
  }

  /** Kills the API server, as when the machine loses power. Watches do not end properly. */
  stopApiServer(): Promise<void> {
    return this.#apiServer.stop('SIGKILL');
  }

  /** A Kubernetes program with its flags, in this network namespace or another. */
  program(name: string, options: Record<string, string>, namespace = this.namespace, log = name): Program {
    const args = Object.entries(options).map(([option, value]) => `--${option}=${value}`);
    return new Program(namespace, this.directory, [join(this.programs, name), ...args], log);
  }

  /** A token of a service account, as a pod has it. */
  async token(namespace: string, serviceAccount: string): Promise<string> {
    return (await this.kubectl.run(`-n ${namespace} create token ${serviceAccount}`)).trim();
  }

  async remove(): Promise<void> {
    await this.namespace.remove();
    await rm(this.directory, { recursive: true, force: true });
  }

  #apiServerOptions(): Record<string, string> {
    const { credentials } = this;
    const serving = credentials.server('kube-apiserver', SERVER_ADDRESS, KUBERNETES_CLUSTER_IP);
    return {
      'etcd-servers': ETCD_URL,
      'bind-address': SERVER_ADDRESS,
      'advertise-address': SERVER_ADDRESS,
      'tls-cert-file': credentials.write('kube-apiserver.crt', serving.certificate),
      'tls-private-key-file': credentials.write('kube-apiserver.key', serving.key),
      'client-ca-file': credentials.caFile,
      'service-account-issuer': 'https://kubernetes.default.svc',
      'service-account-key-file': credentials.tokenKeyFile,
      'service-account-signing-key-file': credentials.tokenKeyFile,
      'service-cluster-ip-range': SERVICE_RANGE,
      'authorization-mode': 'Node,RBAC',
      'enable-admission-plugins': 'NodeRestriction',
    };
  }

  /** Access to kubelets, for logs and exec; and to the pods of webhooks, because this namespace has no kube-proxy. */
  #apiServerForKubelets(): Record<string, string> {
    const { credentials } = this;
    const client = credentials.client('kube-apiserver', 'system:masters');
    return {
      'kubelet-client-certificate': credentials.write('kubelet-client.crt', client.certificate),
      'kubelet-client-key': credentials.write('kubelet-client.key', client.key),
      'kubelet-preferred-address-types': 'InternalIP',
      'enable-aggregator-routing': 'true',
      'allow-privileged': 'true',
      'enable-bootstrap-token-auth': 'true',
    };
  }

  #controllerManagerOptions(controllers: readonly string[]): Record<string, string> {
    const { credentials } = this;
    return {
      kubeconfig: this.adminKubeconfig,
      controllers: controllers.join(','),
      'service-account-private-key-file': credentials.tokenKeyFile,
      'root-ca-file': credentials.caFile,
      'cluster-signing-cert-file': credentials.caFile,
      'cluster-signing-key-file': credentials.caKeyFile,
      'leader-elect': 'false',
      'bind-address': '127.0.0.1',
      port: '0',
    };
  }
}
