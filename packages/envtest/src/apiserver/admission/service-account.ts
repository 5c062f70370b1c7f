/** ServiceAccount: every pod runs as an existing service account and gets its token mounted at the standard path. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '@tidegate/kube';
import type { AdmissionAttributes } from '../operations/core.ts';
import { refusal } from '../operations/refusal.ts';
import type { Container, Pod } from '../resources/pod/types.ts';
import { randomSuffix } from '../resources/validation/random-suffix.ts';
import type { Store } from '../store/types.ts';

const MIRROR_POD = 'kubernetes.io/config.mirror';
const TOKEN_PATH = '/var/run/secrets/kubernetes.io/serviceaccount';
const VOLUME_PREFIX = 'kube-api-access-';
/** One hour plus seven seconds: the lifetime by which kube-apiserver recognizes token requests of kubelets. */
const TOKEN_SECONDS = 3607;
const DEFAULT_ACCOUNT = 'default';
/** A controller creates the default account of a new namespace; pods that are created before that wait for it. */
const PATIENCE = { looks: 20, everyMs: 75 };

interface ServiceAccount extends KubeObject {
  automountServiceAccountToken?: boolean;
  imagePullSecrets?: { name?: string }[];
}

export function serviceAccounts(
  store: Store,
  random: (limit: number) => number,
): (attributes: AdmissionAttributes) => Promise<void> {
  return async (attributes) => {
    const { operation, subresource, object, namespace } = attributes;
    if (operation !== 'CREATE' || subresource !== '' || object === undefined) return;
    if (attributes.served.definition.storage !== 'pods') return;
    const pod = object as unknown as Pod;
    if (object.metadata.annotations?.[MIRROR_POD] !== undefined) return checkMirrorPod(attributes, pod);
    const name = pod.spec.serviceAccountName || DEFAULT_ACCOUNT;
    const account = await find(store, namespace, name);
    if (account === undefined) {
      throw refusal(
        attributes,
        `error looking up service account ${namespace}/${name}: serviceaccount ${JSON.stringify(name)} not found`,
      );
    }
    if (pod.spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true) {
      mountToken(pod, random);
    }
    if ((pod.spec.imagePullSecrets ?? []).length === 0 && account.imagePullSecrets !== undefined) {
      pod.spec.imagePullSecrets = account.imagePullSecrets;
    }
  };
}

/** Mirror pods represent static pods of a node. They must not give the node access to secrets. */
function checkMirrorPod(attributes: AdmissionAttributes, pod: Pod): void {
  if (pod.spec.serviceAccountName) {
    throw refusal(attributes, 'a mirror pod may not reference service accounts');
  }
}

async function find(store: Store, namespace: string, name: string): Promise<ServiceAccount | undefined> {
  for (let look = 1; ; look++) {
    const entry = store.get({ resource: 'serviceaccounts', namespace, name });
    if (entry !== undefined) return JSON.parse(entry.value.toString()) as ServiceAccount;
    if (name !== DEFAULT_ACCOUNT || look === PATIENCE.looks) return undefined;
    await sleep(PATIENCE.everyMs);
  }
}

/**
 * Mounts the token into every container that has nothing mounted at the path, as users can do to use a token of their
 * own.
 */
function mountToken({ spec }: Pod, random: (limit: number) => number): void {
  const existing = spec.volumes?.find((volume) => volume.name?.startsWith(VOLUME_PREFIX));
  const name = existing?.name ?? `${VOLUME_PREFIX}${randomSuffix(random)}`;
  const containers: Container[] = [...(spec.initContainers ?? []), ...(spec.containers ?? [])];
  const without = containers.filter(
    ({ volumeMounts = [] }) => !volumeMounts.some(({ mountPath }) => mountPath === TOKEN_PATH),
  );
  for (const container of without) {
    container.volumeMounts = [
      ...(container.volumeMounts ?? []),
      { name, readOnly: true, mountPath: TOKEN_PATH },
    ];
  }
  if (existing !== undefined || without.length === 0) return;
  spec.volumes = [...(spec.volumes ?? []), { name, projected: { defaultMode: 0o644, sources: sources() } }];
}

/** The content of the standard volume: the token, the certificate of the API server, and the namespace. */
const sources = (): object[] => [
  { serviceAccountToken: { path: 'token', expirationSeconds: TOKEN_SECONDS } },
  { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
  {
    downwardAPI: {
      items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
    },
  },
];
