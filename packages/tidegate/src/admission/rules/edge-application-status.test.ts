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

/** What the user would have to be allowed to delete. The user may delete ConfigMaps only. */
async function review(before: EdgeApplication, after: EdgeApplication) {
  const asked: string[] = [];
  const access = async (_: unknown, { verb, resource, name }: AccessRequest): Promise<boolean> => {
    asked.push(`${verb} ${resource} ${name}`);
    return resource === 'configmaps';
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
});
