/**
 * Installs, upgrades and removes Tidegate on a cluster.
 *
 * There is one source for the objects of an installation: the templates of the Helm chart in deploy/chart (chart.ts,
 * render.ts), and the list of values (values.ts, set-values.ts). From these come the values file and the schema of the chart
 * (chart-files.ts), the kustomize base and its overlays (overlays.ts), and what `tidegate install` applies.
 * scripts/generate-deploy.js writes the generated files.
 *
 * One `tidegate install`:
 *   1. `prepareInstall` (prepare.ts) merges the values, renders the objects, replaces versions that the API server does not
 *      have (adapt.ts), and sends all objects as a dry run (plan.ts). refusals.ts says what the installation would break.
 *   2. The command prints the plan. If there is a refusal, it ends here, and nothing has changed.
 *   3. `applyPlan` (apply-plan.ts) applies the objects in order, between two writes of the inventory (inventory.ts).
 *   4. `untilReady` (ready.ts) waits for the manager and says what it waits for (not-ready.ts).
 *
 * `tidegate uninstall` says what speaks against it (removal.ts) and what is lost (losses.ts), and removes everything in the
 * reverse order (remove.ts). The rules of version skew are in versions.ts.
 */
export { deniedAccess } from './access.ts';
export { applyPlan } from './apply-plan.ts';
export { type Chart, objectsOf, readChart } from './chart.ts';
export { valuesSchema } from './chart-files.ts';
export { foreignControllers } from './foreign.ts';
export { findInventories, type Inventory, nameOf, readInventory, textOf } from './inventory.ts';
export { customObjects, lossesText } from './losses.ts';
export { ALERTS } from './monitoring.ts';
export { notReadyText } from './not-ready.ts';
export { occupiedNamespaces } from './occupied.ts';
export {
  BASE_SETTINGS,
  DEFAULT_NAMESPACE,
  OVERLAYS,
} from './overlays.ts';
export type { Plan } from './plan.ts';
export { type Prepared, prepareInstall, ROUTER_NAMESPACES } from './prepare.ts';
export { PART_OF_SELECTOR, untilReady, whatIsMissing } from './ready.ts';
export { planRemoval } from './removal.ts';
export { removeAll } from './remove.ts';
export { defaultValues, withSettings } from './set-values.ts';
export { valueDefinitions } from './values.ts';
export { skewProblem } from './versions.ts';
