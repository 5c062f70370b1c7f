/** What a client calls itself: `kube-proxy` of `kube-proxy/v1.36.4 (linux/amd64)`. It decides filters, never rights. */
export function componentOf(userAgent: string | undefined): string {
  const [name = ''] = (userAgent ?? '').split('/', 1);
  return name.trim().toLowerCase();
}
