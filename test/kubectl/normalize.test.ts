import { expect, test } from 'vitest';
import { normalize } from './normalize.ts';

const SERVER = 'https://127.0.0.1:6443';
const lines = (...rows: string[]) => rows.join('\n');

test('keeps the columns after an age aligned', () => {
  const young = lines('NAME   AGE   IP', 'a      5s    <none>', 'b      7s    10.0.0.1');
  const old = lines('NAME   AGE     IP', 'a      5m10s   <none>', 'b      2d      10.0.0.1');
  expect(normalize(young, SERVER)).toBe(normalize(old, SERVER));
  expect(normalize(old, SERVER)).toBe(
    lines('NAME   AGE     IP', 'a      <age>   <none>', 'b      <age>   10.0.0.1'),
  );
});

test('keeps the spacing of columns without variable values', () => {
  const table = lines('NAME     REQUESTEDDURATION', 'a        60m', 'longer   10m');
  expect(normalize(table, SERVER)).toBe(table);
});

test('recognizes rows of a watch with a different layout', () => {
  const output = lines('NAME    READY   AGE', 'first   0/1     3s', 'second   0/1     0s');
  expect(normalize(output, SERVER)).toBe(
    lines('NAME    READY   AGE', 'first   0/1     <age>', 'second   0/1     <age>'),
  );
});

test('treats the events of a description as a table', () => {
  const output = lines(
    '  Type    Reason  Age               From    Message',
    '  ----    ------  ----              ----    -------',
    '  Normal  Synced  12s (x3 over 1m)  syncer  done in 5s  twice',
  );
  expect(normalize(output, SERVER)).toBe(
    lines(
      '  Type    Reason  Age                    From    Message',
      '  ----    ------  ----                   ----    -------',
      '  Normal  Synced  <age> (x3 over <age>)  syncer  done in 5s  twice',
    ),
  );
});

test.each([
  ['uid: 1b4e28ba-2fa1-11d2-883f-b9a761bde3fb', 'uid: <uid>'],
  ['resourceVersion: "42"', 'resourceVersion: "<rv>"'],
  ['resourceVersion: ""', 'resourceVersion: ""'],
  ['creationTimestamp: "2026-01-02T03:04:05Z"', 'creationTimestamp: "<time>"'],
  ['renewTime: "2026-01-02T03:04:05.123456Z"', 'renewTime: "<time>"'],
  ['Start Time:  Fri, 02 Jan 2026 03:04:05 +0000', 'Start Time:  <time>'],
  ['clusterIP: 10.96.3.4', 'clusterIP: <cluster-ip>'],
  ['nodePort: 31234', 'nodePort: <node-port>'],
  ['The range of valid ports is 30000-32767', 'The range of valid ports is 30000-32767'],
  ['configmap/run-x7k2p created', 'configmap/run-<random> created'],
  ['      cpu:        100m', '      cpu:        100m'],
  ['Post "https://127.0.0.1:6443/x": 127.0.0.1:6443', 'Post "<server>/x": <server>'],
])('%s', (output, expected) => {
  expect(normalize(output, SERVER)).toBe(expected);
});
