// Reads the Go structs of the Kubernetes API from a source tree of Kubernetes. Struct tags and comment markers are the
// only place that has all facts about a field: its name in JSON, its number in protobuf, whether it is a pointer, and how
// lists merge. Texts of comments are not read.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Folders below staging/src/k8s.io and the prefix of the definitions in them. */
function* packages(root) {
  const base = join(root, 'staging/src/k8s.io');
  for (const group of readdirSync(join(base, 'api'), { withFileTypes: true })) {
    if (!group.isDirectory() || group.name === 'testdata') continue;
    for (const version of readdirSync(join(base, 'api', group.name), { withFileTypes: true })) {
      if (!version.isDirectory()) continue;
      yield [join(base, 'api', group.name, version.name), `io.k8s.api.${group.name}.${version.name}`];
    }
  }
  yield [join(base, 'apimachinery/pkg/apis/meta/v1'), 'io.k8s.apimachinery.pkg.apis.meta.v1'];
  for (const [project, group] of [
    ['apiextensions-apiserver', 'apiextensions'],
    ['kube-aggregator', 'apiregistration'],
  ]) {
    yield [join(base, project, 'pkg/apis', group, 'v1'), `io.k8s.${project}.pkg.apis.${group}.v1`];
  }
}

/**
 * All structs and named types by definition name, for example `io.k8s.api.core.v1.PodSpec`, and the values of string
 * constants in the same form.
 */
export function readGoTypes(root) {
  const types = new Map();
  const constants = new Map();
  for (const [directory, prefix] of packages(root)) {
    for (const file of readdirSync(directory)) {
      if (!/^types.*\.go$/.test(file) && file !== 'micro_time.go') continue;
      const text = readFileSync(join(directory, file), 'utf8');
      for (const type of parseFile(text)) types.set(`${prefix}.${type.name}`, type);
      for (const [, name, value] of text.matchAll(/^\s+(\w+)\s+\w+\s+= "([^"]*)"$/gm)) {
        constants.set(`${prefix}.${name}`, value);
      }
    }
  }
  return { types, constants };
}

/** Yields { name, markers, fields } for structs and { name, base } for other named types. */
function* parseFile(text) {
  let markers = [];
  let struct;
  for (const line of text.split('\n')) {
    const trimmed = line.trim();
    const marker = /^\/\/ ?\+(.*)$/.exec(trimmed)?.[1];
    if (marker !== undefined) markers.push(marker);
    else if (trimmed.startsWith('//')) continue;
    else if (struct !== undefined) {
      if (trimmed === '}') {
        yield struct;
        struct = undefined;
      } else {
        const field = parseField(trimmed, markers);
        if (field !== undefined) struct.fields.push(field);
      }
      markers = [];
    } else {
      const opened = /^type (\w+) struct ?\{(\})?$/.exec(trimmed);
      const named = /^type (\w+) ([\w.[\]*]+)$/.exec(trimmed);
      if (opened?.[2] !== undefined) yield { name: opened[1], markers, fields: [] };
      else if (opened !== null) struct = { name: opened[1], markers, fields: [] };
      else if (named !== null) yield { name: named[1], base: named[2] };
      // A blank line separates the markers of a type from the type itself in some files.
      if (trimmed !== '') markers = [];
    }
  }
}

/** `Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`` */
function parseField(line, markers) {
  const match = /^(?:(\w+)\s+)?([\w.[\]*]+)\s+`(.*)`/.exec(line);
  if (match === null) return undefined;
  const [, name, type, tags] = match;
  const tag = (key) => new RegExp(`(?:^|\\s)${key}:"([^"]*)"`).exec(tags)?.[1];
  const [json = '', ...options] = (tag('json') ?? '').split(',');
  const number = Number(tag('protobuf')?.split(',')[1] ?? 0);
  const inline = options.includes('inline') || (name === undefined && json === '');
  return {
    goName: name ?? type.split('.').at(-1),
    type,
    json,
    inline,
    omitempty: options.includes('omitempty'),
    omitzero: options.includes('omitzero'),
    number,
    patchStrategy: tag('patchStrategy'),
    patchMergeKey: tag('patchMergeKey'),
    markers,
  };
}
