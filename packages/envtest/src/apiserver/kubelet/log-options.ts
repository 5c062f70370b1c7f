/** Validates the query of `pods/log` as PodLogOptions and converts it to the query of the kubelet. */
import { badRequest, type FieldError, fieldError, invalid } from '@tidegate/serving';

const FLAGS = ['follow', 'previous', 'timestamps'] as const;
const NUMBERS = ['sinceSeconds', 'tailLines', 'limitBytes'] as const;

type Numbers = Partial<Record<(typeof NUMBERS)[number], number>>;

/** The query for the kubelet. The container is part of the path instead. */
export function kubeletLogQuery(pod: string, query: URLSearchParams): URLSearchParams {
  const flags = FLAGS.filter((name) => isSet(query.get(name)));
  const numbers: Numbers = {};
  for (const name of NUMBERS) {
    const text = query.get(name);
    if (text !== null) numbers[name] = integer(text);
  }
  const sinceTime = time(query.get('sinceTime'));
  const errors = check(numbers, sinceTime, query.get('stream'));
  if (errors.length > 0) throw invalid({ group: '', kind: 'PodLogOptions' }, pod, errors);
  const wanted = new URLSearchParams();
  for (const name of flags) wanted.set(name, 'true');
  for (const [name, value] of Object.entries(numbers)) wanted.set(name, String(value));
  if (sinceTime !== undefined) wanted.set('sinceTime', sinceTime);
  return wanted;
}

const isSet = (text: string | null): boolean =>
  text !== null && text !== '0' && text.toLowerCase() !== 'false';

function integer(text: string): number {
  if (/^[+-]?\d+$/.test(text)) return Number(text);
  throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
}

function time(text: string | null): string | undefined {
  if (text === null || text === '') return undefined;
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text);
  if (isTime && !Number.isNaN(Date.parse(text))) return text;
  const quoted = JSON.stringify(text);
  throw badRequest(`parsing time ${quoted} as "2006-01-02T15:04:05Z07:00": cannot parse ${quoted} as "2006"`);
}

function check(numbers: Numbers, sinceTime: string | undefined, stream: string | null): FieldError[] {
  const { tailLines, limitBytes, sinceSeconds } = numbers;
  const errors: FieldError[] = [];
  if (tailLines !== undefined && tailLines < 0) {
    errors.push(fieldError.invalid('tailLines', tailLines, 'must be greater than or equal to 0'));
  }
  if (limitBytes !== undefined && limitBytes < 1) {
    errors.push(fieldError.invalid('limitBytes', limitBytes, 'must be greater than 0'));
  }
  if (sinceSeconds !== undefined && sinceTime !== undefined) {
    errors.push(fieldError.forbidden('[]', 'at most one of `sinceTime` or `sinceSeconds` may be specified'));
  } else if (sinceSeconds !== undefined && sinceSeconds < 1) {
    errors.push(fieldError.invalid('sinceSeconds', sinceSeconds, 'must be greater than 0'));
  }
  // stdout and stderr of a container are in one file, as in Kubernetes without the feature PodLogsQuerySplitStreams.
  if (stream !== null) errors.push(fieldError.forbidden('stream', 'may not be specified'));
  return errors;
}
