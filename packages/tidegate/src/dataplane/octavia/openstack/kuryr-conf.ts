import { CloudConfigError } from './cloud.ts';

/** The settings of kuryr.conf that Tidegate uses. Defaults for parameters of classes. */
export interface KuryrSettings {
  /** Floating IPs are allocated from this subnet. */
  readonly externalSubnetId?: string;
  /** Load balancers are created in this subnet. */
  readonly serviceSubnetId?: string;
}

/** The only driver of Kuryr's design. */
const DRIVER = 'neutron_l7_policy';

/** Reads kuryr.conf, in the INI format of oslo.config. Unknown sections and keys are ignored: Kuryr has many. */
export function readKuryrConf(text: string, path = 'kuryr.conf'): KuryrSettings {
  const values = readIni(text, path);
  const driver = values.get('kubernetes.l7_router_driver');
  if (driver !== undefined && driver !== DRIVER)
    throw new CloudConfigError(
      `${path}: [kubernetes] l7_router_driver is ${driver}: the only supported driver is ${DRIVER}.`,
    );
  const external = values.get('neutron_defaults.external_svc_subnet');
  const service = values.get('neutron_defaults.service_subnet');
  return {
    ...(external && { externalSubnetId: external }),
    ...(service && { serviceSubnetId: service }),
  };
}

function readIni(text: string, path: string): Map<string, string> {
  const values = new Map<string, string>();
  let section = 'DEFAULT';
  text.split(/\r?\n/).forEach((line, index) => {
    const written = line.trim();
    if (written === '' || written.startsWith('#') || written.startsWith(';')) return;
    const header = /^\[([^\]]+)\]$/.exec(written);
    const pair = /^([^=:\s]+)\s*[=:]\s*(.*)$/.exec(written);
    if (header) section = `${header[1]}`.trim();
    else if (pair) values.set(`${section}.${pair[1]}`, `${pair[2]}`.trim());
    // A line that starts with a space continues the value before it.
    else if (!/^\s/.test(line))
      throw new CloudConfigError(`${path}, line ${index + 1}: write [section], or key = value.`);
  });
  return values;
}
