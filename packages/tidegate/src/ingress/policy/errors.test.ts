import { describe, expect, it } from 'vitest';
import { errorHeaders, readPolicies } from './index.ts';

const read = (annotations: Record<string, string>) =>
  readPolicies(new Map(Object.entries(annotations)), { namespace: 'shop', name: 'web' });

describe('annotations about errors', () => {
  it('name a Service and statuses', () => {
    const { errors, invalid } = read({ 'default-backend': 'pages', 'custom-http-errors': '503, 404' });
    expect({ errors, invalid }).toEqual({ errors: { service: 'pages', statuses: [503, 404] }, invalid: [] });
    const off = { 'custom-http-errors': '404', 'disable-proxy-intercept-errors': 'true' };
    expect(read({ ...off, 'default-backend': 'pages' }).errors).toEqual({ service: 'pages', statuses: [] });
  });

  it.each([
    [{ 'custom-http-errors': '404' }, undefined],
    [{ 'default-backend': 'other/pages' }, undefined],
    [
      { 'default-backend': 'pages', 'custom-http-errors': '404,418' },
      { service: 'pages', statuses: [404] },
    ],
    [
      { 'default-backend': 'pages', 'custom-http-errors': '4xx' },
      { service: 'pages', statuses: [] },
    ],
  ])('%j is reported, and the rest applies', (annotations, errors) => {
    const found = read(annotations as Record<string, string>);
    expect(found.errors).toEqual(errors);
    expect(found.invalid).toMatchObject([{ effect: 'ignored' }]);
  });
});

it('describes an error to the backend', () => {
  const own = { upstream: 'shop_pages_', statuses: [], about: { namespace: 'shop', ingress: 'web' } };
  const facts = { status: 404, accept: undefined, target: '/a?b', service: 'cart', port: 'http' };
  expect(errorHeaders(own, facts)).toEqual({
    ...{ 'X-Code': '404', 'X-Format': '', 'X-Original-URI': '/a?b', 'X-Namespace': 'shop' },
    ...{ 'X-Ingress-Name': 'web', 'X-Service-Name': 'cart', 'X-Service-Port': 'http' },
  });
});
