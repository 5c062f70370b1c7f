/**
 * Installs, upgrades and removes Tidegate on a cluster.
 *
 * There is one source for the objects of an installation: the templates of the Helm chart in deploy/chart, and the list of
 * values in values.ts. From these come the values file and the schema of the chart (chart-files.ts), the kustomize base and
 * its overlays (overlays.ts), and what `tidegate install` applies. scripts/generate-deploy.js writes the generated files.
 */
export { type Chart, inOrder, objectsOf, readChart } from './chart.ts';
export { valuesFile, valuesSchema } from './chart-files.ts';
export { InstallError } from './error.ts';
export {
  BASE_SETTINGS,
  baseFiles,
  DEFAULT_NAMESPACE,
  definitionsKustomization,
  OVERLAYS,
  overlayFiles,
} from './overlays.ts';
export { renderTemplate } from './render.ts';
export {
  changedValues,
  checkValues,
  defaultValues,
  type Values,
  valueAt,
  withSettings,
  withStored,
} from './set-values.ts';
export { type ValueDefinition, valueDefinitions } from './values.ts';
