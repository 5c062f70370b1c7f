import type { Clock, KubeClient, Logger, Random, Secret } from '@tidegate/kube';

/** Keeps a router informed about the Secrets that its routes refer to. */
export interface SecretSource {
  /** Starts to report a Secret, `namespace/name`. */
  follow(key: string): void;
  unfollow(key: string): void;
  follows(key: string): boolean;
  /** Resolves when the API server has answered for every Secret that is followed now. */
  answered(): Promise<void>;
  close(): Promise<void>;
}

export interface SecretSourceOptions {
  client: KubeClient;
  /** `secret` is undefined if it does not exist, or if the router may not read it any more. */
  onSecret(key: string, secret: Secret | undefined): void;
  clock: Clock;
  random: Random;
  log: Logger;
}
