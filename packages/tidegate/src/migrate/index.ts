/**
 * `tidegate migrate`: from ingress-nginx to Tidegate, with a proof before the switch.
 *
 * `model` has two models of the same Ingresses: what ingress-nginx does with a request, with the rules that manifests do not show,
 * and what Tidegate does, with the code of its routers. `requests.ts` derives requests from the routes: each path, its
 * neighbors and other spellings.
 *
 * `tidegate migrate ingress-nginx`: `select.ts` finds the Ingresses of ingress-nginx; `report` computes both answers to all requests,
 * sends nothing, and groups differences by rule; annotations are looked up in the tables of `ingress/nginx-annotations`.
 *
 * `tidegate migrate verify`: `verify` sends the requests, and those of an access log, to both controllers, compares the responses, and
 * explains each difference with the models.
 *
 * `tidegate migrate side-by-side`, `switch` and `finish`: `switch-plan.ts` decides which Ingresses are copied and changed.
 */

export { performSteps } from './perform-steps.ts';
export { type MigrationObjects, migrationReport } from './report/report.ts';
export { reportHtml } from './report/report-html.ts';
export { reportText } from './report/report-text.ts';
export { READ_ONLY, requestsFor, type TestRequest } from './requests.ts';
export {
  classPatch,
  type IngressPlan,
  planSwitch,
  type SwitchClasses,
  type SwitchGoal,
  type SwitchStep,
} from './switch-plan.ts';
export { requestsOfLog } from './verify/access-log.ts';
export { type Models, modelsOf } from './verify/models.ts';
export type { Address, Side } from './verify/send.ts';
export { verify } from './verify/verify.ts';
export { verificationText } from './verify/verify-text.ts';
