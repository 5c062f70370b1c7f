import { expect, test } from 'vitest';
import { differences, outputLines, parseTranscript, renderTranscript } from './transcript.ts';

const TEXT = `# A remark.

$ kubectl get cm b
Error from server (NotFound): configmaps "b" not found
[exit 1]
$ kubectl apply -f - <<EOF
> kind: ConfigMap
>
> EOF
configmap/a created

# Another remark.
$ true
`;

test('renders what it parsed', () => {
  expect(renderTranscript(parseTranscript(TEXT))).toBe(TEXT);
});

test('includes a heredoc in its command', () => {
  const scripts = parseTranscript(TEXT).flatMap((step) => (step.kind === 'command' ? [step.script] : []));
  expect(scripts).toEqual(['kubectl get cm b', 'kubectl apply -f - <<EOF\nkind: ConfigMap\n\nEOF', 'true']);
});

test('escapes output that looks like a mark', () => {
  const output = outputLines('# a comment\n$ money\n> quote\n[exit 1]\n\\back\nplain\n\n', 3);
  expect(output).toEqual([
    '\\# a comment',
    '\\$ money',
    '\\> quote',
    '\\[exit 1]',
    '\\\\back',
    'plain',
    '[exit 3]',
  ]);
  const text = renderTranscript([{ kind: 'command', script: 'x', output }]);
  expect(parseTranscript(text)).toEqual([{ kind: 'command', script: 'x', output }]);
});

test('reports a difference with the command and the lines that differ', () => {
  const recorded = parseTranscript('$ same\nx\n$ other\na\nb\nc\nd\ne\n');
  const replayed = parseTranscript('$ same\nx\n$ other\na\nB\nc\ne\nf\n');
  expect(differences(recorded, replayed)).toBe('$ other\n- b\n+ B\n- d\n+ f\n');
  expect(differences(recorded, recorded)).toBe('');
});
