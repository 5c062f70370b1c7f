/** The CRDs, permissions and other objects of the installation: complete, and as they were installed. */
import { DEPLOYMENTS, type KubeClient } from '@tidegate/kube';
import { nameOf, PART_OF_SELECTOR, prepareInstall, readInventory, textOf } from '../../install/index.ts';
import { type Check, error, type Finding, ok, warning } from '../check.ts';

export const objects: Check = {
  name: 'objects',
  title: 'Objects of the installation',
  when: 'installed',
  async run({ client, namespace, chart, signal }) {
    const inventory = await readInventory(client, namespace);
    if (inventory === undefined) return [await withoutRecord(client, namespace, chart.version, signal)];
    if (inventory.isBeingRemoved)
      return [
        error(
          `the removal of version ${inventory.version} was interrupted`,
          'run tidegate uninstall --yes to continue it, or tidegate install to install it again',
        ),
      ];
    const findings: Finding[] = [];
    if (inventory.changingTo !== undefined)
      findings.push(
        error(
          `the change to version ${inventory.changingTo} was interrupted`,
          'run tidegate install or tidegate upgrade again; it continues',
        ),
      );
    if (inventory.version !== chart.version) {
      findings.push(
        warning(
          `version ${inventory.version} is installed; this program has version ${chart.version}`,
          'run tidegate upgrade, or use a program of the same version',
        ),
      );
      return findings;
    }
    const { plan } = await prepareInstall(client, {
      chart,
      namespace,
      settings: [],
      resetValues: false,
      forceConflicts: true,
      upgrade: false,
      signal,
    });
    for (const { object, action, fields } of plan.steps) {
      const name = textOf(nameOf(object));
      if (action === 'create')
        findings.push(error(`${name} is missing`, 'run tidegate install to create it again'));
      if (action === 'change')
        findings.push(
          warning(
            `${name} was changed: ${fields.slice(0, 4).join(', ')}`,
            'run tidegate install --force-conflicts to restore it, or set the value with --set',
          ),
        );
    }
    if (findings.length === 0)
      findings.push(ok(`version ${inventory.version}: all ${plan.steps.length} objects are as installed`));
    return findings;
  },
};

/** Helm and kubectl leave no record of the values, so that the objects cannot be compared with anything. */
async function withoutRecord(
  client: KubeClient,
  namespace: string,
  version: string,
  signal: AbortSignal,
): Promise<Finding> {
  const { items } = await client.list(DEPLOYMENTS, { namespace, labelSelector: PART_OF_SELECTOR, signal });
  const [deployment] = items;
  if (deployment === undefined)
    return error(
      `Tidegate is not installed in namespace ${namespace}`,
      'run tidegate install, or name its namespace with -n',
    );
  const { labels, annotations } = deployment.metadata;
  const installed = labels?.['app.kubernetes.io/version'];
  const release = annotations?.['meta.helm.sh/release-name'];
  const tool = release === undefined ? 'kubectl or another tool' : `the Helm release ${release}`;
  if (installed !== version)
    return warning(
      `version ${installed} was installed with ${tool}; this program has version ${version}`,
      `upgrade with ${tool}, or use a program of the same version`,
    );
  return ok(`version ${installed} was installed with ${tool}: the objects are not compared`);
}
