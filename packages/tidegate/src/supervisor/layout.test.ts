import { describe, expect, it } from 'vitest';
import { exampleLayout, layoutFromFile, layoutFromNames } from './layout.ts';

describe('a layout from --nodes', () => {
  it('accepts a list of names or a count', () => {
    expect(layoutFromNames('a, b', [])).toEqual([
      { name: 'a', labels: {} },
      { name: 'b', labels: {} },
    ]);
    expect(layoutFromNames('3', []).map(({ name }) => name)).toEqual(['node-1', 'node-2', 'node-3']);
    expect(layoutFromNames('0', [])).toEqual([]);
    expect(layoutFromNames('hub-a,b', []).map(({ name }) => name)).toEqual(['hub-a', 'b']);
  });

  it('keeps the labels of existing nodes', () => {
    expect(layoutFromNames('node-a,x', exampleLayout())).toEqual([
      { name: 'node-a', labels: { location: 'hangzhou' } },
      { name: 'x', labels: {} },
    ]);
  });

  it.each([
    ['A', '--nodes: "A" is not a valid node name'],
    ['a,,b', '--nodes: "" is not a valid node name'],
    ['a,a', '--nodes: the node a is listed more than once'],
    ['../x', '--nodes: "../x" is not a valid node name'],
    ['a,controllers', '--nodes: the node name controllers is reserved'],
    [
      'hub-a,a',
      '--nodes: the node name hub-a is reserved for another process of the cluster; choose another name',
    ],
    ['251', '--nodes: a cluster has at most 250 nodes'],
    ['99999999999', '--nodes: a cluster has at most 250 nodes'],
  ])('rejects %s', (text, message) => {
    expect(() => layoutFromNames(text, [])).toThrow(message);
  });
});

describe('a layout file', () => {
  it('lists nodes and their labels', () => {
    const text =
      'nodes:\n- name: shop-1\n  labels: { location: paris, "example.com/size": "2" }\n- name: shop-2';
    expect(layoutFromFile('sites.yaml', text)).toEqual([
      { name: 'shop-1', labels: { location: 'paris', 'example.com/size': '2' } },
      { name: 'shop-2', labels: {} },
    ]);
  });

  it.each([
    ['', 'sites.yaml must be a mapping, but is empty'],
    ['- a', 'sites.yaml must be a mapping, but is a list'],
    ['nodes: 5', 'sites.yaml: nodes must be a list, for example'],
    ['nodes: [', 'sites.yaml is not valid YAML:'],
    ['node: []', 'sites.yaml: node is not a known field; known fields: nodes'],
    ['nodes: [a]', 'sites.yaml: nodes[0] must be a mapping, but is a string'],
    ['nodes: [{ labels: {} }]', 'sites.yaml: nodes[0].name is required and must be a string'],
    [
      'nodes: [{ name: a, label: {} }]',
      'sites.yaml: nodes[0].label is not a known field; known fields: name, labels',
    ],
    ['nodes: [{ name: a, labels: [x] }]', 'sites.yaml: nodes[0].labels must be a mapping, but is a list'],
    [
      'nodes: [{ name: a, labels: { size: 2 } }]',
      'sites.yaml: nodes[0].labels.size must be a string; put the value in quotes',
    ],
    [
      'nodes: [{ name: a, labels: { "x y": z } }]',
      'sites.yaml: nodes[0].labels.x y name part must consist of',
    ],
    ['nodes: [{ name: a_b }]', 'sites.yaml: "a_b" is not a valid node name'],
    ['nodes: [{ name: a }, { name: a }]', 'sites.yaml: the node a is listed more than once'],
  ])('rejects %j and names the file and the field', (text, message) => {
    expect(() => layoutFromFile('sites.yaml', text)).toThrow(message);
  });
});
