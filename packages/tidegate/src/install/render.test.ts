import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { renderTemplate } from './render.ts';

const render = (template: string, values = {}): string =>
  renderTemplate('a.yaml', template, { values, namespace: 'here', version: '1.2.3' });

describe('a template of the chart', () => {
  it('gets values as JSON', () => {
    const text = render('a: {{ toJson .Values.a.b }}\nn: {{ toJson .Release.Namespace }}\n', {
      a: { b: { c: [1] } },
    });
    expect(parse(text)).toEqual({ a: { c: [1] }, n: 'here' });
  });

  it('gets a value with a text after it', () => {
    const text = render('a: {{ toJson (print .Values.a "#b") }}\n', { a: 'https://a.example/"x' });
    expect(parse(text)).toEqual({ a: 'https://a.example/"x#b' });
  });

  it('cannot be changed by the content of a value', () => {
    const hostile = '"\nevil: true\n{{ toJson .Values.b }} {{ toJson (print .Values.b "x") }} # ';
    expect(parse(render('a: {{ toJson .Values.a }}\n', { a: hostile, b: 1 }))).toEqual({ a: hostile });
  });

  it.each([[false], [''], [0], [[]], [{}]])('is left out if its condition is %j', (x) => {
    expect(render('{{- if .Values.x }}\na: 1\n{{- end }}\n', { x })).toBe('');
  });

  it.each([[true], ['text'], [[1]], [{ a: 1 }]])('is rendered if its condition is %j', (x) => {
    expect(render('{{- if .Values.x }}\na: 1\n{{- end }}\n', { x })).toBe('a: 1\n');
  });

  it.each([
    ['{{ .Values.a }}', 'only {{ toJson'],
    ['{{ toJson .Values.a | quote }}', 'only {{ toJson'],
    ['{{ toJson (print .Values.a .Values.b) }}', 'only {{ toJson'],
    ['b: 1\n{{- if .Values.a }}\nc: 1\n{{- end }}\n', 'only {{ toJson'],
    ['{{- if .Values.a }}\nc: 1\n', 'the last line must be {{- end }}'],
    ['{{ toJson .Values.missing }}', '.Values.missing is not a value of the chart'],
    ['{{ toJson .Capabilities.KubeVersion }}', '.Capabilities.KubeVersion is not a value of the chart'],
  ])('is refused if it contains %j', (template, message) => {
    expect(() => render(template, { a: 1 })).toThrow(`a.yaml: `);
    expect(() => render(template, { a: 1 })).toThrow(message);
  });
});
