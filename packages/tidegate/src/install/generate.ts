/** What scripts/generate-deploy.js uses. */
export { readChart } from './chart.ts';
export { valuesFile, valuesSchema } from './chart-files.ts';
export { monitoringTemplate } from './monitoring.ts';
export { baseFiles, definitionsKustomization, OVERLAYS, overlayFiles } from './overlays.ts';
export { valueDefinitions } from './values.ts';
