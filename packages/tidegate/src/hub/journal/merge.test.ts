import { describe, expect, it } from 'vitest';
import { merge, STATUS_MERGE_KEYS } from './merge.ts';

const merged = (target: Record<string, unknown>, patch: Record<string, unknown>) =>
  merge(target, patch, STATUS_MERGE_KEYS);

describe('merge, for a patch of a status,', () => {
  it('merges maps, replaces lists, and removes fields that are null', () => {
    expect(
      merged(
        { phase: 'Pending', capacity: { cpu: '1', memory: '2' }, images: [1, 2], reason: 'x' },
        { phase: 'Running', capacity: { cpu: '2' }, images: [3], reason: null },
      ),
    ).toEqual({ phase: 'Running', capacity: { cpu: '2', memory: '2' }, images: [3] });
  });

  it('merges conditions by type, in the requested order', () => {
    const target = {
      conditions: [
        { type: 'Initialized', status: 'True' },
        { type: 'Ready', status: 'False', reason: 'Starting', message: 'm' },
      ],
    };
    const patch = {
      '$setElementOrder/conditions': [{ type: 'Ready' }, { type: 'New' }, { type: 'Initialized' }],
      conditions: [
        { type: 'Ready', status: 'True', reason: null },
        { type: 'New', status: 'True', reason: null },
      ],
    };
    expect(merged(target, patch)).toEqual({
      conditions: [
        { type: 'Ready', status: 'True', message: 'm' },
        { type: 'New', status: 'True' },
        { type: 'Initialized', status: 'True' },
      ],
    });
  });

  it('applies the directives delete and replace', () => {
    const target = {
      conditions: [{ type: 'A' }, { type: 'B' }],
      addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
    };
    const patch = {
      conditions: [{ $patch: 'delete', type: 'A' }],
      addresses: [
        { type: 'InternalIP', address: '10.0.0.2' },
        { type: 'InternalIP', address: 'fd00::2' },
        { $patch: 'replace' },
      ],
    };
    expect(merged(target, patch)).toEqual({
      conditions: [{ type: 'B' }],
      addresses: [
        { type: 'InternalIP', address: '10.0.0.2' },
        { type: 'InternalIP', address: 'fd00::2' },
      ],
    });
    expect(merged({ nodeInfo: { a: 1 } }, { nodeInfo: { $patch: 'replace', b: 2 } })).toEqual({
      nodeInfo: { b: 2 },
    });
  });

  it('keeps only the keys in $retainKeys', () => {
    const target = { resourceClaimStatuses: [{ name: 'gpu', resourceClaimName: 'x', old: true }] };
    const patch = {
      resourceClaimStatuses: [
        { name: 'gpu', resourceClaimName: 'y', $retainKeys: ['name', 'resourceClaimName'] },
      ],
    };
    expect(merged(target, patch)).toEqual({
      resourceClaimStatuses: [{ name: 'gpu', resourceClaimName: 'y' }],
    });
  });

  it('does not change its input or a prototype', () => {
    const target = Object.freeze({ a: Object.freeze({ b: 1 }) });
    expect(merged(target, { a: { b: 2 } })).toEqual({ a: { b: 2 } });
    merged({}, JSON.parse('{"__proto__": {"polluted": true}}'));
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});
