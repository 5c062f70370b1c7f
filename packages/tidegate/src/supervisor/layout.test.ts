import { describe, expect, it } from 'vitest';
import { exampleLayout, layoutFromFile, layoutFromNames } from './layout.ts';

describe('a layout by names', () => {
  it('is a list, or how many', () => {
    expect(layoutFromNames('a, b', [])).toEqual([
      { name: 'a', labels: {} },
      { name: 'b', labels: {} },
    ]);
    expect(layoutFromNames('3', []).map(({ name }) => name)).toEqual(['node-1', 'node-2', 'node-3']);
    expect(layoutFromNames('0', [])).toEqual([]);
    expect(layoutFromNames('hub-a,b', []).map(({ name }) => name)).toEqual(['hub-a', 'b']);
  });

  it('leaves the labels of nodes that exist alone', () => {
    expect(layoutFromNames('node-a,x', exampleLayout())).toEqual([
      { name: 'node-a', labels: { location: 'hangzhou' } },
      { name: 'x', labels: {} },
    ]);
  });

  it.each([
    ['A', '--nodes: "A" can not be the name of a node'],
    ['a,,b', '--nodes: "" can not be the name of a node'],
    ['a,a', '--nodes: the node a stands there twice'],
    ['../x', '--nodes: "../x" can not be'],
    ['a,controllers', '--nodes: a node can not be called controllers'],
    ['hub-a,a', '--nodes: a node can not be called hub-a, since another process of the cluster is'],
    ['251', '--nodes: a cluster has at most 250 nodes'],
    ['99999999999', '--nodes: a cluster has at most 250 nodes'],
  ])('%s is refused', (text, message) => {
    expect(() => layoutFromNames(text, [])).toThrow(message);
  });
});

describe('a layout file', () => {
  it('names nodes and their labels', () => {
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
    ['nodes: 5', 'sites.yaml: nodes must be a list such as'],
    ['nodes: [', 'sites.yaml is not valid YAML:'],
    ['node: []', 'sites.yaml: node is not known here; there is nodes'],
    ['nodes: [a]', 'sites.yaml: nodes[0] must be a mapping, but is a string'],
    ['nodes: [{ labels: {} }]', 'sites.yaml: nodes[0].name must be a string; every node needs a name'],
    [
      'nodes: [{ name: a, label: {} }]',
      'sites.yaml: nodes[0].label is not known here; there is name and labels',
    ],
    ['nodes: [{ name: a, labels: [x] }]', 'sites.yaml: nodes[0].labels must be a mapping, but is a list'],
    [
      'nodes: [{ name: a, labels: { size: 2 } }]',
      'sites.yaml: nodes[0].labels.size must be a string; put it in quotes',
    ],
    [
      'nodes: [{ name: a, labels: { "x y": z } }]',
      'sites.yaml: nodes[0].labels.x y name part must consist of',
    ],
    ['nodes: [{ name: a_b }]', 'sites.yaml: "a_b" can not be the name of a node'],
    ['nodes: [{ name: a }, { name: a }]', 'sites.yaml: the node a stands there twice'],
  ])('%j is refused by file and field', (text, message) => {
    expect(() => layoutFromFile('sites.yaml', text)).toThrow(message);
  });
});
