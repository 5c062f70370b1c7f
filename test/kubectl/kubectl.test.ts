/**
 * Conformance tests with kubectl. Each file in cases/ is a recording of kube-apiserver. The embedded server must answer
 * the same commands with the same output.
 *
 *     npm run test:long -- test/kubectl                                    # the embedded server
 *     TIDEGATE_TEST_KUBECONFIG=FILE npm run test:long -- test/kubectl      # any other cluster
 *     UPDATE_TRANSCRIPTS=1 KUBECONFIG=FILE npm run test:long -- test/kubectl   # record again from that cluster
 */
import { readdirSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { normalize } from './normalize.ts';
import { type Session, Target } from './session.ts';
import { differences, outputLines, parseTranscript, renderTranscript, type Step } from './transcript.ts';

const CASES = join(import.meta.dirname, 'cases');

interface Chosen {
  readonly kubeconfig: string;
  readonly record: boolean;
  stop(): Promise<void>;
}

async function chooseTarget(env: NodeJS.ProcessEnv): Promise<Chosen> {
  const stop = async () => {};
  if (env.UPDATE_TRANSCRIPTS) {
    if (!env.KUBECONFIG)
      throw new Error('UPDATE_TRANSCRIPTS requires KUBECONFIG, the cluster to record from');
    return { kubeconfig: env.KUBECONFIG, record: true, stop };
  }
  if (env.TIDEGATE_TEST_KUBECONFIG) return { kubeconfig: env.TIDEGATE_TEST_KUBECONFIG, record: false, stop };
  const { startEmbedded } = await import('../support/embedded.ts');
  const embedded = await startEmbedded();
  return { kubeconfig: embedded.kubeconfig, record: false, stop: () => embedded.stop() };
}

async function replay(steps: readonly Step[], session: Session): Promise<Step[]> {
  const replayed: Step[] = [];
  for (const step of steps) {
    if (step.kind === 'remark') {
      replayed.push(step);
      continue;
    }
    const { output, exitCode } = await session.run(step.script);
    replayed.push({ ...step, output: outputLines(normalize(output, session.server), exitCode) });
  }
  return replayed;
}

// Cases mostly wait and use separate namespaces, but kubectl uses a whole core while it starts.
vi.setConfig({ maxConcurrency: 3 });

describe('kubectl', () => {
  let chosen: Chosen;
  let target: Target;
  beforeAll(async () => {
    chosen = await chooseTarget(process.env);
    target = await Target.open(chosen.kubeconfig);
  });
  afterAll(async () => {
    await target?.close();
    await chosen?.stop();
  });

  const files = readdirSync(CASES).filter((file) => file.endsWith('.txt'));
  test.concurrent.each(files.map((file) => basename(file, '.txt')))('%s', async (topic) => {
    const path = join(CASES, `${topic}.txt`);
    const recorded = await readFile(path, 'utf8');
    const session = await target.openSession(topic);
    try {
      const steps = parseTranscript(recorded);
      const replayed = await replay(steps, session);
      if (chosen.record) await writeFile(path, renderTranscript(replayed));
      else if (renderTranscript(replayed) !== recorded) expect.fail(`\n${differences(steps, replayed)}`);
    } finally {
      await session.close();
    }
  });
});
