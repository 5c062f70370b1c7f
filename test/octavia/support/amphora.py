"""A machine of Octavia ("amphora") on the loopback interface.

Octavia's own driver renders the configuration of HAProxy and prepares certificates. Usually it sends them to an agent in
a virtual machine; here a local object takes the place of that agent and writes files, with which the test runs Debian's
HAProxy. Only what depends on the machine is replaced: addresses to bind, paths, the user, and the number of connections.
"""
import json
import os
import re
import shutil


class LocalAgent:
    """Has the methods of the client of an amphora's agent that the driver uses."""

    def __init__(self, directory):
        self.directory = directory

    def get_api_version(self, *_, **__):
        return {'api_version': '1.0'}

    def get_info(self, *_, **__):
        return {'haproxy_version': '2.6.12'}

    def get_cert_md5sum(self, *_, **__):
        return None

    def upload_cert_pem(self, _, load_balancer, filename, pem):
        directory = os.path.join(self.directory, 'certs', load_balancer)
        os.makedirs(directory, exist_ok=True)
        with open(os.path.join(directory, filename), 'wb') as file:
            file.write(pem if isinstance(pem, bytes) else pem.encode())

    def upload_config(self, _, load_balancer, config, timeout_dict=None):
        with open(self._file(load_balancer) + '.new', 'w') as file:
            file.write(self._local(load_balancer, config))
        os.rename(self._file(load_balancer) + '.new', self._file(load_balancer))

    def reload_listener(self, *_, **__):
        """The test starts HAProxy with the last configuration, once for many changes."""

    start_listener = reload_listener

    def delete_listener(self, _, load_balancer):
        if os.path.exists(self._file(load_balancer)):
            os.remove(self._file(load_balancer))

    def delete_cert_pem(self, _, load_balancer, filename):
        """A later configuration may need the file again. The directory ends with the test."""

    def _file(self, load_balancer):
        return os.path.join(self.directory, load_balancer + '.cfg')

    def _ports(self, load_balancer):
        with open(os.path.join(self.directory, load_balancer + '.ports')) as file:
            return json.load(file)

    def _local(self, load_balancer, config):
        for port, local in self._ports(load_balancer).items():
            config = re.sub(r'bind \S+:%s(?= |$)' % port, 'bind 127.0.0.1:%d' % local, config, flags=re.M)
        config = re.sub(r'^    (daemon|user nobody|log .*|log-format .*)\n', '', config, flags=re.M)
        config = re.sub(r'^    maxconn \d+$', '    maxconn 2000', config, flags=re.M)
        return re.sub(r'^    (stats socket|server-state-file) (\S+)', self._moved, config, flags=re.M)

    def _moved(self, found):
        return '    %s %s' % (found[1], os.path.join(self.directory, os.path.basename(found[2])))


def render_for_haproxy(directory):
    """Load balancers whose ports are in a file of the directory get a configuration. Others have no traffic."""
    from octavia.amphorae.drivers.haproxy import rest_api_driver
    from octavia.amphorae.drivers.noop_driver import driver as noop

    agent = LocalAgent(directory)
    real = []

    def driver():
        if not real:
            real.append(rest_api_driver.HaproxyAmphoraLoadBalancerDriver())
            real[0].clients = {'base': agent, '1.0': agent}
        return real[0]

    def has_ports(load_balancer):
        """Tests know the name of a load balancer before it exists, but not its ID."""
        named = os.path.join(directory, load_balancer.name + '.ports')
        if os.path.exists(named):
            shutil.copy(named, os.path.join(directory, load_balancer.id + '.ports'))
        return os.path.exists(named)

    def update(_, load_balancer):
        if has_ports(load_balancer):
            driver().update(load_balancer)

    def update_amphora_listeners(_, load_balancer, amphora, timeout_dict=None):
        if has_ports(load_balancer):
            driver().update_amphora_listeners(load_balancer, amphora, timeout_dict)

    def delete(_, listener):
        if has_ports(listener.load_balancer):
            driver().delete(listener)

    noop.NoopManager.update = update
    noop.NoopManager.update_amphora_listeners = update_amphora_listeners
    noop.NoopManager.delete = delete
