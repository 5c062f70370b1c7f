/** The CRDs, permissions and other objects of the installation: complete, and as they were installed. */
import { nameOf, prepareInstall, readInventory, textOf } from '../../install/index.ts';
import { type Check, error, type Finding, ok, warning } from '../check.ts';

export const objects: Check = {
  name: 'objects',
  title: 'Objects of the installation',
  when: 'installed',
  async run({ client, namespace, chart, signal }) {
    const inventory = await readInventory(client, namespace);
    if (inventory === undefined)
      return [
        error(
          `Tidegate is not installed in namespace ${namespace}, or not with this command`,
          'run tidegate install, or name its namespace with -n',
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
