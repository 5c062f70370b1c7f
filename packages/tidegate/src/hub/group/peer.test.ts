import { describe, expect, it } from 'vitest';
import { encodeFrame, type Frame, FrameError, parseFrame } from './frames.ts';
import { Peer } from './peer.ts';

const report = { ips: ['10.0.0.1'], ready: true, terminating: false };
const frame = (sequence: number, change: Partial<Frame> = {}): Frame => ({
  epoch: 'e1',
  sequence,
  counts: false,
  pods: new Map([['uid-a', report]]),
  ...change,
});

describe('Peer', () => {
  it('counts while this node is cut off, or the other one is', () => {
    let cut = false;
    const peer = new Peer({ graceBeats: 3, isCut: () => cut });
    expect(peer.known).toBe(false);
    peer.hear();
    peer.take(frame(1));
    expect(peer.known).toBe(false);
    peer.take(frame(2, { counts: true }));
    expect(peer.known).toBe(true);
    // A node with a link asks the cloud about a node that it does not hear.
    for (let i = 0; i < 3; i++) peer.beat();
    expect([peer.known, peer.lost]).toEqual([false, false]);
    cut = true;
    expect([peer.known, peer.lost, peer.state]).toEqual([true, true, 'lost']);
    peer.answer();
    expect(peer.lost).toBe(false);
  });

  it('is lost only if it was reachable before, for this process or an earlier one', () => {
    const peer = new Peer({ graceBeats: 3, isCut: () => true });
    for (let i = 0; i < 10; i++) peer.beat();
    expect([peer.lost, peer.state]).toEqual([false, 'silent']);
    peer.heardBefore();
    expect(peer.lost).toBe(true);
    peer.hear();
    expect([peer.lost, peer.state]).toEqual([false, 'heard']);
  });

  it('takes only newer frames of one process, and any of another one', () => {
    const peer = new Peer({ graceBeats: 3, isCut: () => true });
    peer.take(frame(5));
    expect(() => peer.take(frame(5))).toThrow(FrameError);
    expect(() => peer.take(frame(4))).toThrow('frame 4 comes after frame 5');
    peer.take(frame(1, { epoch: 'e2', pods: new Map() }));
    expect(peer.reports.size).toBe(0);
  });
});

it('does not take more frames than a hub sends', () => {
  const peer = new Peer({ graceBeats: 3, isCut: () => true });
  for (let i = 1; i <= 100; i++) peer.take(frame(i));
  expect(() => peer.take(frame(101))).toThrow('the node sends too many frames');
  peer.beat();
  peer.take(frame(102));
});

describe('frames', () => {
  it('arrive as they were sent', () => {
    const sent = frame(7, {
      pods: new Map([
        ['uid-a', report],
        ['uid-b', null],
      ]),
    });
    expect(parseFrame(encodeFrame(sent))).toEqual(sent);
  });

  const valid = { epoch: 'e', sequence: 1, counts: true, pods: {} };
  it.each([
    'x',
    '[]',
    'null',
    '{}',
    ...[
      { ...valid, epoch: '' },
      { ...valid, epoch: 'a b' },
      { ...valid, sequence: 1.5 },
      { ...valid, counts: 'yes' },
      { ...valid, pods: [] },
      { ...valid, pods: { '': report } },
      { ...valid, pods: { 'a\nb': report } },
      { ...valid, pods: { a: { ...report, ips: ['not an address'] } } },
      { ...valid, pods: { a: { ...report, ips: '10.0.0.1' } } },
      { ...valid, pods: { a: { ...report, ips: Array(5).fill('10.0.0.1') } } },
      { ...valid, pods: { a: { ...report, ready: 'True' } } },
      { ...valid, pods: { a: 1 } },
      { ...valid, pods: Object.fromEntries(Array.from({ length: 2_001 }, (_, i) => [`u${i}`, null])) },
    ].map((one) => JSON.stringify(one)),
  ])('that are not valid are refused: %s', (line) => {
    expect(() => parseFrame(line)).toThrow(FrameError);
  });
});
