/**
 * Returns where the iptables rules of kube-proxy send traffic for an address and port of a Service, sorted.
 */
export function destinations(natTable: string, clusterIp: string, port: number): string[] {
  const rules = natTable.split('\n');
  const rulesOf = (chain: string): string[] => rules.filter((rule) => rule.startsWith(`-A ${chain} `));
  const find = (pattern: RegExp) => (rule: string) => pattern.exec(rule)?.[1] ?? [];
  return rulesOf('KUBE-SERVICES')
    .filter((rule) => rule.includes(` -d ${clusterIp}/32 `) && rule.includes(` --dport ${port} `))
    .flatMap(find(/ -j (KUBE-SVC-\S+)/))
    .flatMap(rulesOf)
    .flatMap(find(/ -j (KUBE-SEP-\S+)/))
    .flatMap(rulesOf)
    .flatMap(find(/ --to-destination (\S+)/))
    .sort();
}
