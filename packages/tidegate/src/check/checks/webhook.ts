/** The admission webhook: registered, with a valid certificate, and really answering the API server. */
import { X509Certificate } from 'node:crypto';
import { ApiStatusError, isNotFound, type KubeObject, type Resource } from '@tidegate/kube';
import { EDGE_APPLICATIONS } from '../../api/index.ts';
import { type Check, type CheckContext, error, type Finding, ok, warning } from '../check.ts';

interface Configuration extends KubeObject {
  webhooks?: { name: string; clientConfig: { caBundle?: string } }[];
}

const configurations = (kind: string): Resource<Configuration> => ({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource: `${kind}webhookconfigurations`,
  namespaced: false,
});

const INSTALL = 'run tidegate install, which creates it again';
const restart = (namespace: string): string =>
  `restart the webhook, which renews it: kubectl -n ${namespace} rollout restart deployment/tidegate-admission. Before Kubernetes 1.30, then run tidegate install`;
const DAY_MS = 24 * 3_600_000;

export const webhook: Check = {
  name: 'webhook',
  title: 'Admission webhook',
  when: 'installed',
  async run(context) {
    const findings: Finding[] = [];
    for (const kind of ['validating', 'mutating']) findings.push(...(await registration(context, kind)));
    // Without a registration, the API server would not call the webhook.
    return findings.some(({ hint }) => hint === INSTALL)
      ? findings
      : [...findings, ...(await answer(context))];
  },
};

async function registration(
  { client, now, namespace, signal }: CheckContext,
  kind: string,
): Promise<Finding[]> {
  const found = await client
    .get(configurations(kind), { name: 'tidegate' }, { signal })
    .catch((cause: unknown) => {
      if (isNotFound(cause)) return undefined;
      throw cause;
    });
  if (found === undefined)
    return [error(`the ${kind} webhook configuration tidegate does not exist`, INSTALL)];
  const bundles = [...new Set((found.webhooks ?? []).map(({ clientConfig }) => clientConfig.caBundle ?? ''))];
  return bundles.flatMap((bundle) => certificates(bundle, kind, now(), restart(namespace)));
}

function certificates(bundle: string, kind: string, now: number, hint: string): Finding[] {
  const text = Buffer.from(bundle, 'base64').toString('utf8');
  const all = text.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? [];
  const ends = all.map((pem) => Date.parse(new X509Certificate(pem).validTo));
  const last = Math.max(...ends);
  const where = `the ${kind} webhook configuration tidegate`;
  if (all.length === 0) return [error(`${where} contains no certificate authority`, hint)];
  if (last < now) return [error(`the certificate authority of ${where} expired ${day(last)}`, hint)];
  if (last < now + DAY_MS)
    return [warning(`the certificate authority of ${where} expires ${day(last)}`, hint)];
  return [ok(`${kind}: registered; the certificate authority is valid until ${day(last)}`)];
}

const day = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** A dry run of an object that the webhook looks at. Any answer of the webhook proves that it is reachable. */
async function answer({ client, namespace, signal }: CheckContext): Promise<Finding[]> {
  const object = {
    apiVersion: 'apps.kubeedge.io/v1alpha1',
    kind: 'EdgeApplication',
    metadata: { name: 'tidegate-check', namespace: 'default' },
    spec: { workloadTemplate: { manifests: [] }, workloadScope: { targetNodeGroups: [] } },
  } as KubeObject;
  try {
    await client.create(EDGE_APPLICATIONS, object, { dryRun: true, signal });
  } catch (cause) {
    if (!(cause instanceof ApiStatusError)) throw cause;
    if (/failed calling webhook|failed to call webhook/.test(cause.message))
      return [
        error(`the API server cannot call the webhook: ${cause.message}`, hintFor(cause.message, namespace)),
      ];
    if (!cause.message.includes('denied the request'))
      return [error(`a dry run failed: ${cause.message}`, 'check that the CRDs are installed')];
  }
  return [ok('the API server reaches it')];
}

/** What is wrong is in the message of the API server. */
function hintFor(message: string, namespace: string): string {
  if (/x509|certificate/.test(message))
    return `the CA bundle of the webhook does not fit to its certificate: ${restart(namespace)}`;
  if (/no endpoints available|not found/.test(message))
    return `no pod is behind the Service: kubectl -n ${namespace} get service,endpoints,pods`;
  return 'check the pods of tidegate-admission, the NetworkPolicies, and that the API server reaches pods';
}
