import { readFile } from 'node:fs/promises';
import { type Clock, systemClock } from '../base/clock.ts';
import {
  type ClusterConfig,
  ConfigError,
  type Credential,
  type CredentialSource,
  fixedCredential,
  type Impersonation,
} from './cluster.ts';
import { EXEC_API_VERSIONS, ExecCredentials } from './exec-credentials.ts';
import type { Fields } from './fields.ts';
import { FileCredentials } from './file-credentials.ts';
import { type Entry, type Kubeconfig, pathFrom } from './kubeconfig.ts';

/** Options of {@link configFromContext}. `env` is the environment for credential plugins. */
export interface ContextOptions {
  /** Default: `current-context`. */
  context?: string;
  env: NodeJS.ProcessEnv;
  clock?: Clock;
}

/** Resolves a context to its cluster and user. */
export async function configFromContext(
  kubeconfig: Kubeconfig,
  { context: wanted, env, clock = systemClock }: ContextOptions,
): Promise<ClusterConfig> {
  const name = wanted ?? kubeconfig.currentContext;
  if (name === undefined) {
    throw new ConfigError(
      `${kubeconfig.files.join(', ')}: current-context is not set; choose one of: ${list(kubeconfig.contexts)}`,
    );
  }
  const context = find(kubeconfig.contexts, name, 'context', kubeconfig.files.join(', '));
  const clusterName = context.fields.requiredString('cluster', 'name one of the clusters');
  const cluster = find(kubeconfig.clusters, clusterName, 'cluster', context.where);
  const userName = context.fields.string('user');
  const user = userName === undefined ? undefined : find(kubeconfig.users, userName, 'user', context.where);
  const endpoint = await endpointOf(cluster);
  return {
    ...endpoint,
    namespace: context.fields.string('namespace') ?? 'default',
    impersonate: user === undefined ? undefined : impersonationOf(user),
    credentials: user === undefined ? fixedCredential({}) : credentialsOf(user, endpoint, env, clock),
  };
}

type Endpoint = Omit<ClusterConfig, 'namespace' | 'impersonate' | 'credentials'>;

async function endpointOf(cluster: Entry): Promise<Endpoint> {
  const { fields, where } = cluster;
  const server = fields.requiredString('server', 'write https://HOST:PORT');
  if (!URL.canParse(server) || !/^https?:$/.test(new URL(server).protocol)) {
    throw new ConfigError(`${where}: server ${JSON.stringify(server)} is not an http or https URL`);
  }
  const insecureSkipTlsVerify = fields.boolean('insecure-skip-tls-verify');
  const caFile = fields.string('certificate-authority');
  const ca = fields.data('certificate-authority-data') ?? (caFile && (await readCa(cluster, caFile)));
  if (insecureSkipTlsVerify && ca !== undefined) {
    throw new ConfigError(
      `${where}: insecure-skip-tls-verify and a certificate-authority exclude each other; remove one`,
    );
  }
  return {
    server,
    ca,
    insecureSkipTlsVerify,
    tlsServerName: fields.string('tls-server-name'),
    proxyUrl: fields.string('proxy-url'),
    disableCompression: fields.boolean('disable-compression'),
  };
}

async function readCa(cluster: Entry, path: string): Promise<string> {
  try {
    return await readFile(pathFrom(cluster, path), 'utf8');
  } catch (error) {
    throw new ConfigError(`${cluster.where}: certificate-authority: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

function credentialsOf(
  user: Entry,
  endpoint: Endpoint,
  env: NodeJS.ProcessEnv,
  clock: Clock,
): CredentialSource {
  const { fields, where } = user;
  if (fields.has('exec')) return new ExecCredentials(execPluginOf(user, endpoint), env, clock);
  if (fields.has('auth-provider')) {
    throw new ConfigError(`${where}: auth-provider is no longer supported; use an exec plugin`);
  }
  const fixed: Credential = {
    authorization: authorizationOf(fields),
    cert: fields.data('client-certificate-data'),
    key: fields.data('client-key-data'),
  };
  const file = (name: string): string | undefined => {
    const path = fields.string(name);
    return path === undefined ? undefined : pathFrom(user, path);
  };
  const files = {
    tokenFile: fixed.authorization === undefined ? file('tokenFile') : undefined,
    certFile: fixed.cert === undefined ? file('client-certificate') : undefined,
    keyFile: fixed.key === undefined ? file('client-key') : undefined,
  };
  const hasCert = (fixed.cert ?? files.certFile) !== undefined;
  const hasKey = (fixed.key ?? files.keyFile) !== undefined;
  if (hasCert !== hasKey) {
    throw new ConfigError(`${where}: client-certificate and client-key are needed together`);
  }
  const anyFile = Object.values(files).some((path) => path !== undefined);
  return anyFile ? new FileCredentials(files, fixed, clock) : fixedCredential(fixed);
}

function authorizationOf(fields: Fields): string | undefined {
  const token = fields.string('token');
  if (token !== undefined) return `Bearer ${token}`;
  const username = fields.string('username');
  if (username === undefined) return undefined;
  return `Basic ${Buffer.from(`${username}:${fields.string('password') ?? ''}`).toString('base64')}`;
}

function execPluginOf(user: Entry, endpoint: Endpoint): ConstructorParameters<typeof ExecCredentials>[0] {
  const exec = user.fields.child('exec');
  const command = exec.requiredString('command', 'name the plugin to run');
  const apiVersion = exec.requiredString('apiVersion', `write ${EXEC_API_VERSIONS[0]}`);
  if (!EXEC_API_VERSIONS.includes(apiVersion)) {
    throw new ConfigError(`${user.where}: exec plugin: invalid apiVersion ${JSON.stringify(apiVersion)}`);
  }
  const env = exec
    .list('env')
    .map((e) => [e.requiredString('name', 'name the variable'), e.string('value') ?? '']);
  return {
    // A bare word is looked up in PATH; a command with a slash is relative to the kubeconfig.
    command: command.includes('/') ? pathFrom(user, command) : command,
    args: exec.strings('args'),
    env: Object.fromEntries(env),
    apiVersion,
    installHint: exec.string('installHint'),
    interactiveMode: exec.string('interactiveMode') ?? 'IfAvailable',
    cluster: exec.boolean('provideClusterInfo') ? clusterInfo(endpoint) : undefined,
    where: user.where,
  };
}

const clusterInfo = (endpoint: Endpoint): Record<string, unknown> => ({
  server: endpoint.server,
  'tls-server-name': endpoint.tlsServerName,
  'insecure-skip-tls-verify': endpoint.insecureSkipTlsVerify === true ? true : undefined,
  'certificate-authority-data': endpoint.ca && Buffer.from(endpoint.ca).toString('base64'),
  'proxy-url': endpoint.proxyUrl,
});

function impersonationOf({ fields, where }: Entry): Impersonation | undefined {
  const user = fields.string('as');
  const uid = fields.string('as-uid');
  const groups = fields.strings('as-groups');
  const extra = fields.child('as-user-extra');
  if (user === undefined) {
    if (uid === undefined && groups.length === 0 && extra.keys().length === 0) return undefined;
    throw new ConfigError(`${where}: as-uid, as-groups and as-user-extra need "as" to name a user`);
  }
  return {
    user,
    uid,
    groups: groups.length === 0 ? undefined : groups,
    extra: Object.fromEntries(extra.keys().map((key) => [key, extra.strings(key)])),
  };
}

function find(entries: ReadonlyMap<string, Entry>, name: string, kind: string, where: string): Entry {
  const entry = entries.get(name);
  if (entry !== undefined) return entry;
  throw new ConfigError(
    `${where}: ${kind} ${JSON.stringify(name)} does not exist; there are: ${list(entries)}`,
  );
}

const list = (entries: ReadonlyMap<string, Entry>): string => [...entries.keys()].join(', ') || '(none)';
