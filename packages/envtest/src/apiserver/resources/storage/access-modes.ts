/** Access modes of volumes and claims. */
import { type FieldError, fieldError } from '@tidegate/serving';

const SHORT: Readonly<Record<string, string>> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
};

/** For example `RWO,ROX`, in a fixed order. */
export const shownModes = (modes: string[] = []): string =>
  Object.keys(SHORT)
    .filter((mode) => modes.includes(mode))
    .map((mode) => SHORT[mode])
    .join(',');

export function validateAccessModes(modes: string[] = [], path: string): FieldError[] {
  const allowed = Object.keys(SHORT).sort();
  const others = modes.filter((mode) => Object.hasOwn(SHORT, mode) && mode !== 'ReadWriteOncePod');
  return [
    ...modes
      .filter((mode) => !Object.hasOwn(SHORT, mode))
      .map((mode) => fieldError.notSupported(path, mode, allowed)),
    ...(modes.includes('ReadWriteOncePod') && others.length > 0
      ? [fieldError.forbidden(path, 'may not use ReadWriteOncePod with other access modes')]
      : []),
  ];
}
