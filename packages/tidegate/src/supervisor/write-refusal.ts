import { ApiStatusError, type KubeClient } from '@tidegate/kube';

const ANSWER_MS = 2000;

/** Why the API server refuses writes; undefined if it accepts them, or if it is unreachable, which is reported elsewhere. */
export async function writeRefusal(client: KubeClient): Promise<string | undefined> {
  try {
    await client.text('/readyz/store-writes', { deadlineMs: ANSWER_MS });
    return undefined;
  } catch (error) {
    return error instanceof ApiStatusError && error.code === 500
      ? `the API server refuses writes: ${error.message.replace(/^.*store-writes failed: /s, '').trim()}`
      : undefined;
  }
}
