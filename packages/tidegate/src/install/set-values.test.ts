import { describe, expect, it } from 'vitest';
import { changedValues, defaultValues, valueAt, withSettings, withStored } from './set-values.ts';
import { valueDefinitions } from './values.ts';

const DEFINITIONS = valueDefinitions('1.0.0');
const DEFAULTS = defaultValues(DEFINITIONS);
const set = (...settings: string[]) => withSettings(DEFINITIONS, DEFAULTS, settings);

describe('--set', () => {
  it('sets values with their types', () => {
    const values = set('replicas.admission=3', 'image=1.0', 'affinity=null', 'allNamespaces=true');
    expect(valueAt(values, 'replicas.admission')).toBe(3);
    expect(valueAt(values, 'image')).toBe('1.0');
    expect(valueAt(values, 'affinity')).toBeNull();
    expect(valueAt(values, 'allNamespaces')).toBe(true);
    expect(valueAt(values, 'replicas.apps')).toBe(1);
    expect(valueAt(DEFAULTS, 'replicas.admission')).toBe(2);
  });

  it('merges a map with its default, as Helm does; null removes a part of it', () => {
    const values = set('resources.apps={requests: {cpu: 1, memory: null}}');
    expect(valueAt(values, 'resources.apps')).toEqual({
      requests: { cpu: 1 },
      limits: { memory: '512Mi' },
    });
    expect(valueAt(set('nodeSelector={a: b}'), 'nodeSelector')).toEqual({ a: 'b' });
  });

  it.each([
    ['affinity={}', 'value affinity: an empty map changes nothing'],
    ['replicas', 'there is no such value; values: replicas.admission, replicas.pools'],
    ['image', 'use PATH=VALUE'],
    ['replicas.admission=many', 'value replicas.admission: "many" is not valid: use a whole number'],
    ['replicas.admission=0', 'value replicas.admission: use at least 1'],
    ['image=', 'value image: "" does not match'],
    ['logLevel=loud', 'value logLevel: use one of debug, info, warn, error'],
    ['allNamespaces=yes please', 'use true or false'],
    ['affinity={', 'not valid YAML'],
    ['__proto__.polluted=true', 'there is no such value'],
  ])('refuses %s', (setting, message) => {
    const settings = setting === 'replicas' ? 'replicas=3' : setting;
    expect(() => set(settings)).toThrow(message);
  });
});

describe('stored values', () => {
  it('contain only what differs from the defaults', () => {
    expect(changedValues(DEFINITIONS, set('replicas.apps=2', 'logLevel=info'))).toEqual({
      replicas: { apps: 2 },
    });
  });

  it('keep what the user has set, and take new defaults for the rest', () => {
    const values = withStored(DEFINITIONS, { replicas: { apps: 2 }, removed: { in: 'this version' } });
    expect(values).toEqual(set('replicas.apps=2'));
  });
});
