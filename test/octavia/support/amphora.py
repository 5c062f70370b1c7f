"""Renders the configuration of HAProxy with Octavia's own driver.

Usually the driver sends the configuration and certificates to an agent in a virtual machine ("amphora"). Here a local
object takes the place of that agent and keeps them, so that the test can run Debian's HAProxy with them.
"""
import os


class LocalAgent:
    """Has the methods of the client of an amphora's agent that the driver uses."""

    def __init__(self, certificates):
        self.certificates = certificates
        self.configuration = ''

    def get_api_version(self, *_, **__):
        return {'api_version': '1.0'}

    def get_info(self, *_, **__):
        return {'haproxy_version': '2.6.12'}

    def get_cert_md5sum(self, *_, **__):
        return None

    def upload_cert_pem(self, _, load_balancer, filename, pem):
        directory = os.path.join(self.certificates, load_balancer)
        os.makedirs(directory, exist_ok=True)
        with open(os.path.join(directory, filename), 'wb') as file:
            file.write(pem if isinstance(pem, bytes) else pem.encode())

    def upload_config(self, _, load_balancer, config, timeout_dict=None):
        self.configuration = config

    def reload_listener(self, *_, **__):
        pass


def render(load_balancer, certificates):
    """The configuration of a load balancer, from the database. Certificates are written to files."""
    from octavia.amphorae.drivers.haproxy import rest_api_driver
    from octavia.common import constants, data_models
    from octavia.db import api, repositories

    agent = LocalAgent(certificates)
    driver = rest_api_driver.HaproxyAmphoraLoadBalancerDriver()
    driver.clients = {'base': agent, '1.0': agent}
    found = repositories.LoadBalancerRepository().get(api.get_session(), id=load_balancer)
    machine = data_models.Amphora(id=load_balancer, status=constants.AMPHORA_ALLOCATED)
    driver.update_amphora_listeners(found, machine)
    return agent.configuration
