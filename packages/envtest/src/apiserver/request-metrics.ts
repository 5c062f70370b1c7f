import type { Logger, Metrics } from '@tidegate/kube';
import type { RequestRecord } from './http/handler.ts';

const BUCKETS = [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 5, 10, 30, 60];
const READS = new Set(['get', 'list', 'watch']);

/** Records requests under the metric names of kube-apiserver, and logs every write. */
export function requestMetrics(metrics: Metrics, log: Logger): (record: RequestRecord) => void {
  const labels = ['verb', 'group', 'version', 'resource', 'subresource'];
  const total = metrics.counter('apiserver_request_total', {
    help: 'Requests by verb, resource and response code.',
    labels: [...labels, 'code'],
  });
  const duration = metrics.histogram('apiserver_request_duration_seconds', {
    help: 'Request duration in seconds, without watches.',
    labels,
    buckets: BUCKETS,
  });
  return ({ info, user, code, seconds }) => {
    if (info.type === 'path') return;
    const { verb, group, version, resource, subresource, namespace, name } = info;
    const where = { verb: verb.toUpperCase(), group, version, resource, subresource };
    total.inc({ ...where, code: String(code) });
    if (verb !== 'watch') duration.observe(where, seconds);
    if (READS.has(verb)) return;
    log.debug(
      { user: user?.username, verb, group, resource, subresource, namespace, name, code, seconds },
      'audit',
    );
  };
}
