/** The API server: its version, and the APIs that Tidegate uses. */
import { type Check, error, ok } from '../check.ts';

/** Without these, nothing works. */
const REQUIRED = [
  ['apps', 'v1', 'deployments'],
  ['rbac.authorization.k8s.io', 'v1', 'clusterroles'],
  ['apiextensions.k8s.io', 'v1', 'customresourcedefinitions'],
  ['admissionregistration.k8s.io', 'v1', 'validatingwebhookconfigurations'],
  ['networking.k8s.io', 'v1', 'ingresses'],
  ['coordination.k8s.io', 'v1', 'leases'],
  ['certificates.k8s.io', 'v1', 'certificatesigningrequests'],
] as const;

/** Without these, something is done in another way (docs/guides/install.md#supported-versions). */
const OPTIONAL = [
  ['policy', 'v1', 'poddisruptionbudgets', 'policy/v1beta1 is used instead'],
  ['discovery.k8s.io', 'v1', 'endpointslices', 'discovery.k8s.io/v1beta1 is used instead'],
  [
    'admissionregistration.k8s.io',
    'v1',
    'validatingadmissionpolicies',
    'tidegate install writes the CA bundle of the webhooks. Run it again when this command reports a new one',
  ],
] as const;

export const apiServer: Check = {
  name: 'api-server',
  title: 'API server',
  when: 'always',
  async run({ client, signal }) {
    const version = (await client.raw({ method: 'GET', path: '/version', signal })) as {
      gitVersion?: string;
    };
    const serves = (group: string, of: string, resource: string): Promise<boolean> =>
      client.discovery.serves({ group, version: of, resource });
    const findings = [ok(`version ${version.gitVersion} at ${client.config.server}`)];
    for (const [group, of, resource] of REQUIRED)
      if (!(await serves(group, of, resource)))
        findings.push(
          error(
            `the API server has no ${resource} in ${group}/${of}`,
            'upgrade the API server; 1.20 is the oldest',
          ),
        );
    for (const [group, of, resource, instead] of OPTIONAL)
      if (!(await serves(group, of, resource)))
        findings.push(ok(`no ${resource} in ${group}/${of}: ${instead}`));
    return findings;
  },
};
