"""A machine of Octavia ("amphora") on the loopback interface.

Octavia's own driver renders the configuration of HAProxy and prepares certificates. Usually it sends them to an agent in
a virtual machine; here a local object takes the place of that agent, and runs Debian's HAProxy with the configuration.
Only what depends on the machine is replaced in it: addresses to bind, paths, the user, and the number of connections.
"""
import json
import os
import re
import shutil
import subprocess
import time

PATIENCE = 120


class LocalAgent:
    """Has the methods of the client of an amphora's agent that the driver uses."""

    def __init__(self, directory, packages):
        self.directory = directory
        self.packages = packages
        self.processes = {}

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
        with open(self._file(load_balancer), 'w') as file:
            file.write(self._local(load_balancer, config))

    def reload_listener(self, _, load_balancer, timeout_dict=None):
        old = self.processes.get(load_balancer)
        environment = {**os.environ, 'LD_LIBRARY_PATH': os.path.join(self.packages, 'usr/lib/x86_64-linux-gnu')}
        command = [os.path.join(self.packages, 'usr/sbin/haproxy'), '-db', '-f', self._file(load_balancer)]
        if old is not None and old.poll() is None:
            command += ['-sf', str(old.pid)]
        log = open(os.path.join(self.directory, 'haproxy.log'), 'ab')
        new = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        self._await_listening(load_balancer, new)
        self.processes[load_balancer] = new

    start_listener = reload_listener

    def delete_listener(self, _, load_balancer):
        old = self.processes.pop(load_balancer, None)
        if old is not None:
            old.terminate()
            old.wait()

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

    def _await_listening(self, load_balancer, process):
        """Returns when only the new process accepts connections."""
        with open(self._file(load_balancer)) as file:
            ports = re.findall(r'bind 127\.0\.0\.1:(\d+)', file.read())
        end = time.monotonic() + PATIENCE
        for port in ports:
            while self._listeners(port) != {process.pid}:
                if process.poll() is not None:
                    raise RuntimeError('haproxy ended with %s: see haproxy.log' % process.returncode)
                if time.monotonic() > end:
                    raise RuntimeError('haproxy does not listen on port %s' % port)
                time.sleep(0.02)

    @staticmethod
    def _listeners(port):
        path = shutil.which('ss', path=os.environ.get('PATH', '') + ':/usr/sbin:/sbin:/bin')
        shown = subprocess.run([path, '-ltnpH', 'sport = :%s' % port], capture_output=True, text=True)
        return {int(pid) for pid in re.findall(r'pid=(\d+)', shown.stdout)}


def run_haproxy(directory, packages):
    """Load balancers whose ports are in a file of the directory get an HAProxy. Others stay without traffic."""
    from octavia.amphorae.drivers.haproxy import rest_api_driver
    from octavia.amphorae.drivers.noop_driver import driver as noop

    agent = LocalAgent(directory, packages)
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
