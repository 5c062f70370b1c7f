import { afterEach, describe, expect, it, vi } from 'vitest';
import { Progress } from './progress.ts';

/** Collects what is written, with times and the moving sign made equal. */
class Screen {
  text = '';
  isTTY: boolean;
  columns = 40;

  constructor(isTTY: boolean) {
    this.isTTY = isTTY;
  }

  write(text: string): void {
    this.text += text.replace(/ *\d+\.\d s/g, ' T').replace(/[|/\\-] T/g, '* T');
  }

  /** The lines that a terminal shows in the end. */
  get lines(): string[] {
    return this.text.split('\n').map((line) => line.split('\r\u001b[K').at(-1) ?? '');
  }
}

afterEach(() => {
  vi.useRealTimers();
});

describe('progress', () => {
  it('is one line that moves on a terminal, with notes above it', () => {
    vi.useFakeTimers();
    const screen = new Screen(true);
    const progress = new Progress(screen, {});
    progress.step('starting');
    progress.step('the API server is ready');
    expect(screen.lines).toEqual(['* T  the API server is ready']);
    progress.note('port 8080 is in use');
    expect(screen.lines).toEqual([' T  port 8080 is in use', '* T  the API server is ready']);
    const before = screen.text.length;
    vi.advanceTimersByTime(1000);
    expect(screen.text.length).toBeGreaterThan(before);
    progress.end();
    expect(screen.lines).toEqual([' T  port 8080 is in use', '']);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('never wraps on a narrow terminal', () => {
    const screen = new Screen(true);
    const progress = new Progress(screen, {});
    progress.step('x'.repeat(100));
    progress.end();
    expect(screen.text).not.toContain('x'.repeat(40));
  });

  it.each([
    ['in a file', new Screen(false), {}],
    ['on a terminal without cursor movement', new Screen(true), { TERM: 'dumb' }],
  ])('is plain lines %s', (_, screen, env) => {
    const progress = new Progress(screen, env);
    progress.step('starting');
    progress.note('port 8080 is in use');
    progress.step('ready');
    progress.end();
    expect(screen.text).toBe(' T  starting\n T  port 8080 is in use\n T  ready\n');
  });
});
