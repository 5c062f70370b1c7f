/**
 * Named formats, for example `!format.dns1123Label().validate(self).hasValue()`. Errors are returned as an optional
 * list.
 */

import { type Environment, Optional } from '@marcbachmann/cel-js';
import { ownField } from '@tidegate/kube';
import {
  isDNS1035Label,
  isDNS1123Label,
  isDNS1123Subdomain,
  isLabelKey,
  isLabelValue,
} from '../../../resources/validation/names.ts';
import { hasFormat } from '../../formats.ts';

const TYPE = 'kubernetes.NamedFormat';

class NamedFormat {
  readonly check: (text: string) => string[];

  constructor(check: (text: string) => string[]) {
    this.check = check;
  }
}

class FormatNamespace {}

const byFormat =
  (format: string, complaint: string) =>
  (text: string): string[] =>
    hasFormat(format, text) ? [] : [complaint];

const withoutTrailingDash =
  (check: (text: string) => string[]) =>
  (text: string): string[] =>
    check(text.replace(/-$/, 'a'));

const FORMATS: Record<string, (text: string) => string[]> = {
  dns1123Label: isDNS1123Label,
  dns1123Subdomain: isDNS1123Subdomain,
  dns1035Label: isDNS1035Label,
  qualifiedName: isLabelKey,
  labelValue: isLabelValue,
  dns1123LabelPrefix: withoutTrailingDash(isDNS1123Label),
  dns1123SubdomainPrefix: withoutTrailingDash(isDNS1123Subdomain),
  dns1035LabelPrefix: withoutTrailingDash(isDNS1035Label),
  uri: byFormat('uri', 'invalid URI'),
  uuid: byFormat('uuid', 'does not match the UUID format'),
  byte: byFormat('byte', 'invalid base64'),
  date: byFormat('date', 'invalid date'),
  datetime: byFormat('date-time', 'invalid datetime'),
};

const complaints = (format: NamedFormat, text: string): Optional<string[]> => {
  const found = format.check(text);
  return found.length === 0 ? Optional.none() : Optional.of(found);
};

export function registerFormats(environment: Environment): void {
  environment
    .registerType(TYPE, NamedFormat)
    .registerType('kubernetes.Formats', FormatNamespace)
    .registerConstant('format', 'kubernetes.Formats', new FormatNamespace())
    .registerFunction(`${TYPE}.validate(string): optional<list<string>>`, complaints)
    .registerFunction(`kubernetes.Formats.named(string): optional<${TYPE}>`, (_: unknown, name: string) => {
      const check = ownField(FORMATS, name);
      return check === undefined ? Optional.none() : Optional.of(new NamedFormat(check));
    });
  for (const [name, check] of Object.entries(FORMATS)) {
    environment.registerFunction(`kubernetes.Formats.${name}(): ${TYPE}`, () => new NamedFormat(check));
  }
}
