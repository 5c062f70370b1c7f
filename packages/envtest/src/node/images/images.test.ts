import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '@tidegate/kube';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ImageTable } from './images.ts';
import { imagePattern } from './pattern.ts';
import { parseImages } from './table.ts';

describe('an image pattern', () => {
  test.each([
    ['nginx', 'nginx', true],
    ['nginx', 'nginx:1.27', true],
    ['nginx', 'docker.io/library/nginx:1.27', true],
    ['docker.io/library/nginx:1.27', 'nginx:1.27', true],
    ['docker.io/library/nginx:1.27', 'nginx:1.28', false],
    ['nginx:latest', 'nginx', true],
    ['nginx', 'nginx@sha256:0123', true],
    ['nginx:1.27', 'nginx:1.27@sha256:0123', true],
    ['nginx', 'nginx-extra', false],
    ['nginx*', 'nginx-extra:2', true],
    ['nginx', 'example.io/nginx', false],
    ['*.registry.io/nginx:*', 'eu.registry.io/nginx:1', true],
    ['*.registry.io/nginx:*', 'eu.registry.io/nginx', true],
    ['host:5000/app', 'host:5000/app:v2', true],
    ['team/app', 'docker.io/team/app', true],
    ['*', 'anything/at:all', true],
    ['a.c', 'abc', false],
  ])('%s matches %s: %s', (pattern, image, expected) => {
    expect(imagePattern(pattern)(image)).toBe(expected);
  });
});

describe('a table with a mistake', () => {
  test.each([
    ['images: 5', 'images.yaml:1: expected a list "images:"'],
    ['images:\n  - nginx', 'images.yaml:2: images[0]: expected an entry such as'],
    ['images:\n  - { command: [a] }', 'images.yaml:2: images[0].image: required: the name of an image'],
    ['images:\n  - { image: a }', 'images.yaml:2: images[0]: exactly one of these fields is required'],
    [
      'images:\n  - { image: a, absent: true, standIn: true }',
      'images[0]: exactly one of these fields is required',
    ],
    ['images:\n  - { image: a, standIn: no }', 'images[0].standIn: must be true'],
    ['images:\n  - { image: a, command: run }', 'images[0].command: must be a list of strings'],
    ['images:\n  - image: a\n    comand: [run]', 'images.yaml:3: images[0].comand: unknown field'],
    ['images:\n  - { image: a, command: [a], env: [1] }', 'images[0].env: must be a map'],
    [
      'images:\n  - { image: a, standIn: true, message: x }',
      'images[0].message: is allowed only with absent',
    ],
    ['images: [', 'images.yaml: '],
  ])('%j', (text, message) => {
    expect(() => parseImages(text, 'images.yaml')).toThrow(message);
  });
});

describe('the table', () => {
  let directory: string;
  let file: string;
  let table: ImageTable | undefined;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tidegate-images-'));
    file = join(directory, 'images.yaml');
  });
  afterEach(async () => {
    table?.close();
    await rm(directory, { recursive: true, force: true });
  });
  const open = (): ImageTable => {
    table = new ImageTable({ file, program: ['node', 'tidegate'], log: silentLogger });
    return table;
  };

  test('recognizes its own image, and runs a stand-in for all others', () => {
    const images = open();
    const own = { kind: 'command', command: ['node', 'tidegate'], env: {} };
    expect(images.resolve('tidegate')).toEqual(own);
    expect(images.resolve('example.io/edge/tidegate:v1')).toEqual(own);
    expect(images.resolve('example.io/edge/tidegate-console')).toEqual({ kind: 'stand-in' });
  });

  test('uses the first matching entry of the user before the built-in ones', async () => {
    await writeFile(
      file,
      `images:
  - { image: 'nginx:1', command: [nginx, -v], env: { PORT: 80 } }
  - { image: nginx, absent: true }
  - { image: old, absent: true, message: gone for good }
  - { image: tidegate, standIn: true }
`,
    );
    const images = open();
    expect(images.resolve('nginx:1')).toEqual({
      kind: 'command',
      command: ['nginx', '-v'],
      env: { PORT: '80' },
    });
    expect(images.resolve('nginx:2')).toEqual({
      kind: 'absent',
      message: 'images.yaml marks nginx as absent',
    });
    expect(images.resolve('old')).toEqual({ kind: 'absent', message: 'gone for good' });
    expect(images.resolve('tidegate')).toEqual({ kind: 'stand-in' });
  });

  test('follows changes of the file, and ignores invalid ones', async () => {
    const images = open();
    await writeFile(file, 'images: [{ image: x, absent: true, message: one }]');
    await expect.poll(() => images.resolve('x').kind, { timeout: 5000 }).toBe('absent');
    await writeFile(file, 'images: [{ image: x }]');
    await writeFile(file, 'images: [{ image: y, absent: true }]');
    await expect.poll(() => images.resolve('y').kind, { timeout: 5000 }).toBe('absent');
    expect(images.resolve('x')).toEqual({ kind: 'stand-in' });
  });
});
