import { type Ingress, keyOf } from '@tidegate/kube';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { classNameOf } from '../ingress/compile/index.ts';
import { ingress } from '../ingress/testing/objects.ts';
import { performSteps } from './perform-steps.ts';
import { classPatch, copyOf, planSwitch, type SwitchGoal, type SwitchStep } from './switch-plan.ts';

const CLASSES = { old: 'nginx', new: 'tidegate' };
const RULES = { 'a.io/': 'web:80' };

/** The Ingresses of a cluster. Every Ingress gets an address. */
class Model {
  ingresses: Ingress[];

  constructor(...ingresses: Ingress[]) {
    this.ingresses = ingresses.map(withAddress);
  }

  plan(goal: SwitchGoal, ...selected: string[]) {
    return planSwitch(this.ingresses, CLASSES, goal, selected.length > 0 ? new Set(selected) : undefined);
  }

  do(step: SwitchStep): void {
    const others = this.ingresses.filter((each) => keyOf(each) !== keyOf(step.object));
    if (step.kind === 'create') expect(others).toHaveLength(this.ingresses.length);
    if (step.kind === 'delete') this.ingresses = others;
    else if (step.kind === 'setClass') {
      const patch = classPatch(step.object, step.className) as { metadata: { annotations?: object } };
      const { annotations, ...metadata } = step.object.metadata;
      const kept = patch.metadata.annotations === undefined ? annotations : {};
      const spec = { ...step.object.spec, ingressClassName: step.className };
      this.ingresses = [
        ...others,
        withAddress({ ...step.object, metadata: { ...metadata, annotations: kept ?? {} }, spec }),
      ];
    } else this.ingresses = [...others, withAddress(step.object)];
  }

  run(goal: SwitchGoal, most = Number.POSITIVE_INFINITY): number {
    const steps = this.plan(goal).flatMap((each) => each.steps);
    for (const step of steps.slice(0, most)) this.do(step);
    return steps.length;
  }

  /** `name class`, sorted. */
  get state(): string[] {
    return this.ingresses.map((each) => `${each.metadata.name} ${classNameOf(each)}`).sort();
  }
}

const withAddress = (each: Ingress): Ingress => ({
  ...each,
  status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } },
});
const web = (more = {}) => ingress({ name: 'web', className: 'nginx', rules: RULES, ...more });

describe('a move', () => {
  test('goes from one class to the other and back, with a copy in the other class', () => {
    const model = new Model(web());
    model.run('sideBySide');
    expect(model.state).toEqual(['web nginx', 'web-tidegate tidegate']);
    model.run('switch');
    expect(model.state).toEqual(['web tidegate', 'web-nginx nginx']);
    model.run('switchBack');
    expect(model.state).toEqual(['web nginx', 'web-tidegate tidegate']);
    model.run('switch');
    model.run('finish');
    expect(model.state).toEqual(['web tidegate']);
  });

  test('can be broken off after each step: both controllers serve it, and the same command continues', () => {
    const goal = fc.constantFrom<SwitchGoal>('sideBySide', 'switch', 'switchBack');
    const moves = fc.array(fc.record({ goal, most: fc.nat(4) }), { maxLength: 8 });
    fc.assert(
      fc.property(moves, goal, (before, last) => {
        const model = new Model(web(), web({ name: 'b', rules: { 'b.io/': 'web:80' } }));
        model.run('sideBySide');
        for (const move of before) {
          model.run(move.goal, move.most);
          for (const host of ['a.io', 'b.io'])
            for (const className of ['nginx', 'tidegate'])
              expect(
                model.ingresses.some(
                  (each) => each.spec?.rules?.[0]?.host === host && classNameOf(each) === className,
                ),
              ).toBe(true);
        }
        model.run(last);
        expect(model.run(last)).toBe(0);
        if (last !== 'sideBySide')
          expect(model.state).toEqual(
            last === 'switch'
              ? ['b tidegate', 'b-nginx nginx', 'web tidegate', 'web-nginx nginx']
              : ['b nginx', 'b-tidegate tidegate', 'web nginx', 'web-tidegate tidegate'],
          );
      }),
      { numRuns: 100 },
    );
  });

  test('is for single Ingresses too, and not for others of the class of Tidegate', () => {
    const own = ingress({ name: 'own', className: 'tidegate', rules: { 'own.io/': 'web:80' } });
    const model = new Model(web(), web({ name: 'b' }), own);
    expect(model.plan('sideBySide', 'shop/b').map((each) => each.ingress)).toEqual(['shop/b']);
    expect(model.plan('sideBySide').map((each) => each.ingress)).toEqual(['shop/web', 'shop/b']);
    expect(model.plan('finish')).toEqual([]);
  });
});

describe('a copy', () => {
  test('has the annotations of the controllers, and none that makes other tools act', () => {
    const { metadata, spec } = copyOf(
      web({
        annotations: {
          'nginx.ingress.kubernetes.io/auth-type': 'basic',
          'tidegate.io/max-body-size': '1m',
          'cert-manager.io/cluster-issuer': 'x',
          'external-dns.alpha.kubernetes.io/hostname': 'a.io',
          'kubernetes.io/ingress.class': 'nginx',
        },
      }),
      'tidegate',
    );
    expect(metadata.annotations).toEqual({
      'nginx.ingress.kubernetes.io/auth-type': 'basic',
      'tidegate.io/max-body-size': '1m',
      'external-dns.alpha.kubernetes.io/controller': 'none',
      'migrate.tidegate.io/copy-of': 'web',
    });
    expect(spec?.ingressClassName).toBe('tidegate');
  });

  test('follows its Ingress', () => {
    const model = new Model(web());
    model.run('sideBySide');
    model.ingresses = model.ingresses.map((each) =>
      each.metadata.name === 'web' ? withAddress(web({ rules: { 'a.io/new': 'web:80' } })) : each,
    );
    expect(model.plan('sideBySide').flatMap(({ steps }) => steps.map(({ kind }) => kind))).toEqual([
      'replace',
    ]);
    model.run('sideBySide');
    expect(model.run('sideBySide')).toBe(0);
  });
});

describe('refuses', () => {
  const refusalOf = (goal: SwitchGoal, ...ingresses: Ingress[]) =>
    planSwitch(ingresses, CLASSES, goal, new Set(['shop/web']))[0]?.refusal;

  test('to switch before Tidegate serves the Ingress', () => {
    expect(refusalOf('switch', web())).toMatch(/run tidegate migrate side-by-side first/);
    expect(refusalOf('switch', web(), copyOf(web(), 'tidegate'))).toMatch(/has no address yet/);
  });

  test('to finish before the switch, other classes, and names that are taken', () => {
    expect(refusalOf('finish', web())).toMatch(/run tidegate migrate switch first/);
    expect(refusalOf('switch', web({ className: 'other' }))).toMatch(/neither nginx nor tidegate/);
    expect(refusalOf('sideBySide', web(), web({ name: 'web-tidegate' }))).toMatch(/rename it/);
  });
});

test('an Ingress with the older annotation loses it, because ingress-nginx prefers it', () => {
  const annotations = { 'kubernetes.io/ingress.class': 'nginx' };
  expect(classPatch(web({ annotations }), 'tidegate')).toMatchObject({
    metadata: { annotations: { 'kubernetes.io/ingress.class': null } },
  });
});

test('warns if a tool would change the class back', () => {
  const model = new Model(web({ annotations: { 'meta.helm.sh/release-name': 'shop' } }));
  model.run('sideBySide');
  expect(model.plan('switch')[0]?.warnings).toEqual([expect.stringMatching(/^Helm manages it/)]);
});

test('if the webhook of ingress-nginx refuses the copy, the class is changed first', async () => {
  const model = new Model(web());
  model.run('sideBySide');
  const notes: string[] = [];
  const perform = async (step: SwitchStep): Promise<void> => {
    const isTaken = model.state.includes('web nginx');
    if (step.kind === 'create' && isTaken)
      throw new Error(
        'admission webhook denied: host "a.io" and path "/" is already defined in ingress shop/web',
      );
    model.do(step);
  };
  await performSteps(model.plan('switch')[0]!.steps, perform, () => notes.push('swapped'));
  expect({ notes, state: model.state }).toEqual({
    notes: ['swapped'],
    state: ['web tidegate', 'web-nginx nginx'],
  });
  const failing = performSteps(
    model.plan('switchBack')[0]!.steps,
    () => Promise.reject(new Error('no')),
    () => {},
  );
  await expect(failing).rejects.toThrow('no');
});
