import { CONFIG_MAPS, type ConfigMap } from '@tidegate/kube';
import type { MakeController } from '../context.ts';
import { inEveryNamespace } from './in-every-namespace.ts';

const NAME = 'kube-root-ca.crt';
const DESCRIPTION = 'kubernetes.io/description';
const TEXT = 'The CA certificate of the API server, for programs that run inside the cluster.';

/** Publishes the CA certificate of the API server, taken from the kubeconfig of this program. */
export const rootCaController: MakeController = (context) => {
  const { ca } = context.client.config;
  if (ca === undefined) {
    throw new Error(
      'the kubeconfig contains no CA certificate, so kube-root-ca.crt cannot be published; set certificate-authority-data',
    );
  }
  return inEveryNamespace<ConfigMap>(context, {
    name: 'root-ca-certificate-publisher',
    resource: CONFIG_MAPS,
    objectName: NAME,
    make: () => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: NAME, annotations: { [DESCRIPTION]: TEXT } },
      data: { 'ca.crt': ca },
    }),
    repair: (current) =>
      Object.keys(current.data ?? {}).length === 1 && current.data?.['ca.crt'] === ca
        ? current
        : { ...current, data: { 'ca.crt': ca }, binaryData: undefined },
  });
};
