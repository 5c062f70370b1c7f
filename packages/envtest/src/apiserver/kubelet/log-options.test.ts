import { describe, expect, it } from 'vitest';
import { kubeletLogQuery } from './log-options.ts';

const read = (query: string): string => kubeletLogQuery('web', new URLSearchParams(query)).toString();

describe('kubeletLogQuery', () => {
  it('forwards the options', () => {
    expect(read('')).toBe('');
    expect(read('container=c&insecureSkipTLSVerifyBackend=true')).toBe('');
    expect(read('follow=true&previous=1&timestamps&tailLines=0&limitBytes=9&sinceSeconds=5')).toBe(
      'follow=true&previous=true&timestamps=true&sinceSeconds=5&tailLines=0&limitBytes=9',
    );
    expect(read('follow=false&timestamps=0&previous=FALSE')).toBe('');
    expect(read('sinceTime=2026-01-02T03:04:05Z')).toBe('sinceTime=2026-01-02T03%3A04%3A05Z');
  });

  it.each([
    ['tailLines=-1', 'tailLines: Invalid value: -1: must be greater than or equal to 0'],
    ['limitBytes=0', 'limitBytes: Invalid value: 0: must be greater than 0'],
    ['sinceSeconds=0', 'sinceSeconds: Invalid value: 0: must be greater than 0'],
    [
      'sinceSeconds=1&sinceTime=2020-01-01T00:00:00Z',
      '[]: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified',
    ],
    ['stream=Stdout', 'stream: Forbidden: may not be specified'],
  ])('%s is invalid', (query, problem) => {
    expect(() => read(query)).toThrow(`PodLogOptions "web" is invalid: ${problem}`);
  });

  it.each([
    ['tailLines=x', 'strconv.ParseInt: parsing "x": invalid syntax'],
    ['sinceTime=abc', 'parsing time "abc" as "2006-01-02T15:04:05Z07:00": cannot parse "abc" as "2006"'],
  ])('%s cannot be parsed', (query, problem) => {
    expect(() => read(query)).toThrow(problem);
  });
});
