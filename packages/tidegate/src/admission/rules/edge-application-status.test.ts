import { describe, expect, it } from 'vitest';
import type { EdgeApplication, ManifestStatus } from '../../api/index.ts';
import type { AccessRequest } from '../access.ts';
import type { AdmissionRequest } from '../review.ts';
import { edgeApplicationStatusRule } from './edge-application-status.ts';

const entry = (more: Partial<ManifestStatus['identifier']>, reason?: string): ManifestStatus => ({
  identifier: {
    ...{ ordinal: 0, group: '', version: 'v1', kind: 'ConfigMap', resource: 'configmaps' },
    ...{ namespace: 'shop', name: 'x' },
    ...more,
  },
  ...(reason !== undefined && {
    conditions: [{ type: 'Available', status: 'False', reason, message: '', lastTransitionTime: '' }],
  }),
});
const application = (...manifestStatuses: ManifestStatus[]): EdgeApplication =>
  ({ metadata: { name: 'a', namespace: 'shop' }, spec: {}, status: { manifestStatuses } }) as never;

/** What the user would have to be allowed to do. By default, the user may do it with ConfigMaps only. */
async function review(before: EdgeApplication, after: EdgeApplication, allowed = ['configmaps']) {
  const asked: string[] = [];
  const access = async (_: unknown, { verb, resource, name }: AccessRequest): Promise<boolean> => {
    asked.push(`${verb} ${resource} ${name}`);
    return allowed.includes(resource);
  };
  const rule = edgeApplicationStatusRule({ access, discovery: { forKind: async () => undefined } } as never);
  const request = {
    object: after,
    oldObject: before,
    userInfo: { username: 'eve' },
  } as never as AdmissionRequest;
  return { ...(await rule.evaluate(request)), asked };
}

describe('the status of an application', () => {
  it.each(['Pending', 'ApplyFailed'])(
    'cannot turn an entry that is %s into another resource',
    async (reason) => {
      const before = application(entry({}, reason));
      const { forbidden, asked } = await review(before, application(entry({ resource: 'secrets' }, reason)));
      expect(asked).toEqual(['delete secrets x']);
      expect(forbidden).toContain('cannot delete secrets');
      expect(await review(before, before)).toEqual({ asked: [] });
    },
  );

  it('cannot get an entry without a UID for an object that the user may not delete', async () => {
    const forged = application(entry({ resource: 'secrets' }, 'Available'));
    const { forbidden, asked } = await review(application(), forged);
    expect(asked).toEqual(['delete secrets x']);
    expect(forbidden).toContain('cannot delete secrets');
    // An entry that loses its UID stands for any object of that name.
    const before = application(entry({ resource: 'secrets', uid: '1' }));
    expect((await review(before, forged)).forbidden).toContain('cannot delete secrets');
  });

  it('cannot turn a recorded object into one of another resource or version', async () => {
    const before = application(entry({ uid: '1' }));
    expect(await review(before, application(entry({ uid: '1', resource: 'secrets' })))).toMatchObject({
      forbidden: expect.stringContaining('cannot delete secrets'),
    });
    const { asked } = await review(before, application(entry({ uid: '1', version: 'v2' })));
    expect(asked).toEqual(['delete configmaps x']);
  });

  it('cannot get another rollout from a user, because it names the revisions that sites get', async () => {
    const rolling = (rollout?: object): EdgeApplication =>
      ({ metadata: { name: 'a', namespace: 'shop' }, spec: {}, status: { rollout } }) as never;
    const before = { revision: 'a-2', stableRevision: 'a-1', wave: 0 };
    for (const forged of [{ ...before, stableRevision: 'evil' }, { ...before, wave: 9 }, undefined]) {
      const { forbidden, asked } = await review(rolling(before), rolling(forged));
      expect(asked).toEqual(['update leases tidegate-apps']);
      expect(forbidden).toContain('status.rollout: user "eve" cannot change');
    }
    expect(await review(rolling(before), rolling({ ...before }))).toEqual({ asked: [] });
    expect(await review(rolling(before), rolling(), ['leases'])).toEqual({
      asked: ['update leases tidegate-apps'],
    });
  });
});
