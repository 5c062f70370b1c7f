import type { ControllerRevision } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import { hasNameOfContent, RevisionNames } from './revision-name.ts';

const owner = { metadata: { name: 'shop', namespace: 'a', uid: '1' } };
const data = { spec: { b: [{ x: 1, y: 2 }], a: 'text' } };
const revision = (name: string, content: unknown): ControllerRevision =>
  ({ metadata: { name }, revision: 1, data: content }) as never;

describe('the name of a revision', () => {
  const names = new RevisionNames(owner, data);

  it('fits the content, whatever the order of its fields', () => {
    const turned = { spec: { a: 'text', b: [{ y: 2, x: 1 }] } };
    expect(hasNameOfContent(owner, revision(names.at(0), turned))).toBe(true);
    expect(hasNameOfContent(owner, revision(names.at(3), data))).toBe(true);
    expect(names.at(0)).toMatch(/^shop-[0-9a-f]{40}$/);
  });

  it('fits no other content, no other application, and no other name', () => {
    const forged = { spec: { ...data.spec, a: 'evil' } };
    expect(hasNameOfContent(owner, revision(names.at(0), forged))).toBe(false);
    expect(hasNameOfContent(owner, revision(names.at(0), undefined))).toBe(false);
    expect(hasNameOfContent(owner, revision('shop-chosen', data))).toBe(false);
    const other = { metadata: { ...owner.metadata, uid: '2' } };
    expect(hasNameOfContent(other, revision(names.at(0), data))).toBe(false);
  });

  it('does not walk a content that is too deep', () => {
    let deep: unknown = 1;
    for (let level = 0; level < 100_000; level++) deep = [deep];
    expect(hasNameOfContent(owner, revision(names.at(0), deep))).toBe(false);
  });
});
