import { expect, it } from 'vitest';
import type { ContainerPort } from './types.ts';
import { podTemplateWarnings } from './warnings.ts';

const warningsFor = (ports: ContainerPort[]): string[] =>
  podTemplateWarnings({ spec: { containers: [{ name: 'c', image: 'i', ports }] } }, 'template');

it('names ports that overlap and port names that are used twice', () => {
  const port = { containerPort: 80, protocol: 'TCP' };
  expect(
    warningsFor([
      { ...port, name: 'web' },
      { ...port, hostPort: 8080 },
      { ...port, protocol: 'UDP', name: 'web' },
      { ...port, name: 'other' },
    ]),
  ).toEqual([
    'template.spec.containers[0].ports[1]: overlapping port definition with template.spec.containers[0].ports[0]',
    'template.spec.containers[0].ports[3]: duplicate port definition with template.spec.containers[0].ports[0]',
    'template.spec.containers[0].ports[3]: overlapping port definition with template.spec.containers[0].ports[1]',
    'template.spec.containers[0].ports[2]: duplicate port name "web" with template.spec.containers[0].ports[0], services and probes that select ports by name will use template.spec.containers[0].ports[0]',
  ]);
});

it('returns a limited number of warnings for very many equal ports', () => {
  const ports = Array.from({ length: 20_000 }, () => ({ containerPort: 80, protocol: 'TCP', name: 'web' }));
  expect(warningsFor(ports)).toHaveLength(400);
});
