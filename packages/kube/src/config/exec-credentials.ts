import { spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { type Clock, systemClock } from '../base/clock.ts';
import { ConfigError, type Credential, type CredentialSource } from './cluster.ts';
import { Fields } from './fields.ts';

/** A credential plugin, as configured in `user.exec` of a kubeconfig. */
export interface ExecPlugin {
  command: string;
  args: string[];
  env: Record<string, string>;
  apiVersion: string;
  installHint?: string;
  interactiveMode: string;
  /** Passed to the plugin if it asks for it; the keys are those of `spec.cluster` in an ExecCredential. */
  cluster?: Record<string, unknown>;
  /** Names the file and the user in error messages. */
  where: string;
  cwd?: string;
}

export const EXEC_API_VERSIONS = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'];

/**
 * Runs a credential plugin, for example `aws eks get-token`, and runs it again when its credential expires or is
 * rejected.
 */
export class ExecCredentials implements CredentialSource {
  readonly #plugin: ExecPlugin;
  readonly #env: NodeJS.ProcessEnv;
  readonly #clock: Clock;
  #cached: { credential: Credential; expiresAt: number } | undefined;
  #running: Promise<Credential> | undefined;

  constructor(plugin: ExecPlugin, env: NodeJS.ProcessEnv, clock: Clock = systemClock) {
    this.#plugin = plugin;
    this.#env = env;
    this.#clock = clock;
  }

  async current(): Promise<Credential> {
    if (this.#cached !== undefined && this.#clock.now() < this.#cached.expiresAt) {
      return this.#cached.credential;
    }
    return this.#run();
  }

  async refresh(used: Credential): Promise<Credential> {
    return this.#cached?.credential === used ? this.#run() : this.current();
  }

  /** A plugin may prompt the user, so it never runs twice at the same time. */
  #run(): Promise<Credential> {
    this.#running ??= this.#runOnce().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #runOnce(): Promise<Credential> {
    const { where, command, apiVersion } = this.#plugin;
    const output = await this.#execute();
    let parsed: unknown;
    try {
      parsed = JSON.parse(output);
    } catch {
      // No cause: it would quote the output, which may contain a token.
      throw new ConfigError(`${where}: exec plugin ${command} did not print an ExecCredential as JSON`);
    }
    const answer = new Fields(parsed, `${where}: output of exec plugin ${command}`);
    if (answer.string('apiVersion') !== apiVersion) {
      throw new ConfigError(
        `${where}: exec plugin is configured to use API version ${apiVersion}, plugin returned version ${answer.string('apiVersion')}`,
      );
    }
    const status = answer.child('status');
    const credential = credentialOf(status, where);
    this.#cached = { credential, expiresAt: expiryOf(status, credential) };
    return credential;
  }

  #execute(): Promise<string> {
    const { command, args, env, apiVersion, interactiveMode, cluster, where, cwd } = this.#plugin;
    const interactive = interactiveMode !== 'Never' && process.stdin.isTTY === true;
    if (interactiveMode === 'Always' && !interactive) {
      throw new ConfigError(
        `${where}: exec plugin cannot support interactive mode: standard input is not a terminal`,
      );
    }
    const info = { apiVersion, kind: 'ExecCredential', spec: { interactive, ...(cluster && { cluster }) } };
    return new Promise((resolve, reject) => {
      const child = spawn(command, args, {
        cwd,
        env: { ...this.#env, ...env, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
        stdio: [interactive ? 'inherit' : 'ignore', 'pipe', 'inherit'],
      });
      const chunks: Buffer[] = [];
      child.stdout?.on('data', (chunk: Buffer) => chunks.push(chunk));
      child.on('error', (error) => reject(this.#startFailure(error)));
      child.on('close', (code, signal) => {
        if (code === 0) return resolve(Buffer.concat(chunks).toString('utf8'));
        reject(
          new ConfigError(`${where}: exec plugin ${command} failed with ${signal ?? `exit code ${code}`}`),
        );
      });
    });
  }

  #startFailure(error: Error): ConfigError {
    const { where, command, installHint } = this.#plugin;
    const missing = 'code' in error && error.code === 'ENOENT';
    const what = missing ? `executable ${command} not found` : error.message;
    const hint = installHint === undefined ? '' : `\n\n${installHint}`;
    return new ConfigError(`${where}: exec: ${what}${hint}`, { cause: error });
  }
}

function credentialOf(status: Fields, where: string): Credential {
  const token = status.string('token');
  const cert = status.string('clientCertificateData');
  const key = status.string('clientKeyData');
  if (token === undefined && cert === undefined && key === undefined) {
    throw new ConfigError(`${where}: exec plugin didn't return a token or cert/key pair`);
  }
  if ((cert === undefined) !== (key === undefined)) {
    throw new ConfigError(`${where}: exec plugin returned only certificate or key, not both`);
  }
  return { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), cert, key };
}

/**
 * The time that the plugin states; otherwise the end of its certificate; otherwise never, and a 401 triggers the next
 * run.
 */
function expiryOf(status: Fields, { cert }: Credential): number {
  const stated = status.string('expirationTimestamp');
  if (stated !== undefined) return Date.parse(stated);
  if (cert !== undefined) return Date.parse(new X509Certificate(cert).validTo);
  return Number.POSITIVE_INFINITY;
}
