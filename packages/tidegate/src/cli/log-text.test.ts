import { describe, expect, it } from 'vitest';
import { logJson, logText, timeOf } from './log-text.ts';

const TIME = Date.parse('2026-01-02T03:04:05.678Z');
const line = (fields: object): string =>
  JSON.stringify({ level: 30, time: TIME, pid: 1, hostname: 'h', ...fields });

describe('a log line on a terminal', () => {
  it('has time, level, message and fields', () => {
    expect(logText(line({ pod: 'default/web', count: 2, msg: 'started' }))).toBe(
      '03:04:05.678  INFO   started pod=default/web count=2',
    );
    expect(logText(line({ level: 40, why: 'no route to host', list: [1, 'a'], msg: 'retrying' }))).toBe(
      '03:04:05.678  WARN   retrying why="no route to host" list="[1,\\"a\\"]"',
    );
  });

  it('names the component if lines of several are mixed', () => {
    expect(logText(line({ msg: 'ready' }), { component: 'hub-node-a' })).toBe(
      '03:04:05.678  INFO   hub-node-a  ready',
    );
    expect(logText('plain text', { component: 'hub-node-a' })).toBe('hub-node-a  plain text');
  });

  it('has the message of an error, and its stack if it was not expected', () => {
    const err = {
      type: 'TypeError',
      message: 'x is undefined',
      stack: 'TypeError: x\n    at f (a.js:1)\n    at g',
    };
    expect(logText(line({ level: 40, msg: 'request failed', err }))).toBe(
      '03:04:05.678  WARN   request failed: x is undefined',
    );
    expect(logText(line({ level: 50, err }))).toBe(
      '03:04:05.678  ERROR  x is undefined\n    at f (a.js:1)\n    at g',
    );
  });

  it('has colors if they are wanted', () => {
    expect(logText(line({ level: 50, msg: 'no' }), { color: true })).toContain('\u001b[31mERROR\u001b[0m');
  });

  it('cannot control the terminal', () => {
    expect(logText(line({ msg: 'a\u001b[2Jb\rc' }))).toBe('03:04:05.678  INFO   a[2Jbc');
    expect(logText('\u001b]0;title\u0007x')).toBe(']0;titlex');
    expect(logText(line({ msg: 'x', host: 'a\u001b[2J' }))).toContain('host=a[2J');
  });

  it.each(['', 'tidegate: no disk', '{"broken', '{"a":1}', '    at f (a.js:1)'])(
    'leaves %j as it is',
    (text) => {
      expect(logText(text)).toBe(text);
      expect(timeOf(text)).toBeUndefined();
    },
  );
});

describe('a log line for programs', () => {
  it('has the component, and is JSON in any case', () => {
    expect(JSON.parse(logJson(line({ msg: 'ready' }), 'manager'))).toMatchObject({
      component: 'manager',
      msg: 'ready',
      time: TIME,
    });
    expect(JSON.parse(logJson('plain text', 'manager'))).toEqual({ component: 'manager', msg: 'plain text' });
  });
});
