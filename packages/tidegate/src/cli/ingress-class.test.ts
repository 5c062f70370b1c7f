import type { IngressClass } from '@tidegate/kube';
import { expect, it } from 'vitest';
import { classText } from './describe.ts';
import { classTable } from './get.ts';

const ingressClass = (
  name: string,
  controller: string,
  annotations?: Record<string, string>,
): IngressClass => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'IngressClass',
  metadata: { name, ...(annotations && { annotations }) },
  spec: { controller },
});
const DEFAULT = { 'ingressclass.kubernetes.io/is-default-class': 'true' };

it('marks the default class in a list', () => {
  const classes = [
    ingressClass('silver', 'tidegate.io/nginx', DEFAULT),
    ingressClass('gold', 'tidegate.io/nginx', { 'ingressclass.kubernetes.io/is-default-class': 'yes' }),
    ingressClass('bronze', 'tidegate.io/embedded'),
  ];
  expect(classTable(classes)).toBe(
    `
NAME              TYPE
silver(default)   tidegate.io/nginx
gold              tidegate.io/nginx
bronze            tidegate.io/embedded`.trimStart(),
  );
});

it('prints the details of a class', () => {
  const annotations = { ...DEFAULT, 'kubectl.kubernetes.io/last-applied-configuration': '{}' };
  const standard = ingressClass('standard', 'tidegate.io/nginx', annotations);
  expect(classText(standard, { type: 'standard-https', maxHosts: '20' }, [], 0)).toBe(
    `
Name:            standard
IsDefaultClass:  Yes
Annotations:     ingressclass.kubernetes.io/is-default-class=true
Provisioner:     tidegate.io/nginx
Parameters:      maxHosts=20,type=standard-https
Events:          <none>`.trimStart(),
  );
});

it('prints events and missing parameters', () => {
  const event = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: 'e' },
    type: 'Warning',
    reason: 'ParametersNotFound',
    message: 'There is none.',
    lastTimestamp: '2026-01-01T00:00:00Z',
    source: { component: 'tidegate-manager' },
  };
  const now = Date.parse('2026-01-01T00:01:00Z');
  const text = classText(ingressClass('gold', 'tidegate.io/nginx'), 'there is no ConfigMap', [event], now);
  expect(text.split('\n').slice(4)).toEqual([
    'Parameters:      <unknown>: there is no ConfigMap',
    'Events:',
    '  Type      Reason               Age   From               Message',
    '  Warning   ParametersNotFound   60s   tidegate-manager   There is none.',
  ]);
});
