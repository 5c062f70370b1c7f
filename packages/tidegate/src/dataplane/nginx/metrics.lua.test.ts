import { describe, expect, it } from 'vitest';
import { runLua } from './testing/run-lua.ts';
import { trafficMetrics } from './traffic.ts';

const PRINT = `
  local text
  ngx.say = function(said) text = said end
  metrics.print()
  return text`;

describe('metrics.lua', () => {
  it('counts requests by host, Service and code, and durations in buckets', async () => {
    const counts = await runLua(`
      local metrics = require "tidegate.metrics"
      local counts = metrics.counts_of({ host = "*.io" }, { label = "shop/web" })
      metrics.ended(counts, 200, 0.005)
      metrics.ended(counts, 200, 0.006)
      metrics.flush()
      metrics.ended(counts, 502, 11)
      metrics.failed(counts, "connect")
      metrics.ended(metrics.counts_of(), 404, 0)
      ${PRINT}`);
    const lines = trafficMetrics(String(counts), { className: 'gold', router: 'gold-2' }).split('\n');
    const of = 'class="gold",router="gold-2",host="*.io",service="shop/web"';
    expect(lines).toEqual(
      expect.arrayContaining([
        `tidegate_router_requests_total{${of},code="200"} 2`,
        `tidegate_router_requests_total{${of},code="502"} 1`,
        `tidegate_router_requests_total{class="gold",router="gold-2",host="",service="",code="404"} 1`,
        `tidegate_router_request_duration_seconds_bucket{${of},le="0.005"} 1`,
        `tidegate_router_request_duration_seconds_bucket{${of},le="0.01"} 2`,
        `tidegate_router_request_duration_seconds_bucket{${of},le="10"} 2`,
        `tidegate_router_request_duration_seconds_bucket{${of},le="+Inf"} 3`,
        `tidegate_router_request_duration_seconds_sum{${of}} 11.011`,
        `tidegate_router_request_duration_seconds_count{${of}} 3`,
        `tidegate_router_upstream_errors_total{${of},kind="connect"} 1`,
      ]),
    );
  });

  it('counts hosts beyond the limit together', async () => {
    const counts = await runLua(`
      local metrics = require "tidegate.metrics"
      for i = 1, 2500 do
        metrics.ended(metrics.counts_of({ host = "h" .. i }, { label = "n/s" }), 200, 0)
      end
      ${PRINT}`);
    const lines = String(counts).split('\n');
    expect(lines.filter((line) => line.startsWith('code\t'))).toHaveLength(2001);
    expect(lines).toContain('code\t\t\t\tother\tother\t200\t500');
  });
});
