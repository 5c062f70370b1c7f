import { expect, it } from 'vitest';
import { Metrics } from './metrics.ts';

it('puts the prefix before names that do not begin with it', async () => {
  const metrics = new Metrics({ prefix: 'shop_' });
  metrics.counter('workqueue_adds_total', { help: 'Adds.' }).inc({});
  metrics.gauge('shop_orders', { help: 'Orders.' }).set({}, 2);
  const text = await metrics.scrape();
  expect(text).toContain('shop_workqueue_adds_total 1');
  expect(text).toContain('\nshop_orders 2');
  expect(text).not.toContain('shop_shop');
});

it('returns the same metric for the same name', async () => {
  const metrics = new Metrics({ prefix: 'shop_' });
  metrics.counter('orders_total', { help: 'Orders.' }).inc({});
  metrics.counter('shop_orders_total', { help: 'Orders.' }).inc({});
  expect(await metrics.scrape()).toContain('shop_orders_total 2');
});

it('forgets the series of an object, in all metrics', async () => {
  const metrics = new Metrics();
  const labels = ['router', 'code'];
  const requests = metrics.counter('requests_total', { help: 'Requests.', labels });
  const seconds = metrics.histogram('seconds', { help: 'Seconds.', labels: ['router'], buckets: [1] });
  for (const router of ['gold', 'silver']) {
    for (const code of ['200', '404']) requests.inc({ router, code });
    seconds.observe({ router }, 2);
  }
  metrics.gauge('up', { help: 'Up.' }).set({}, 1);
  metrics.forget({ router: 'gold' });
  const text = await metrics.scrape();
  expect(text).not.toContain('gold');
  expect(text.match(/router="silver"/g)).toHaveLength(6);
  expect(text).toContain('up 1');
});
