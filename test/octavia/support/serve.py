"""Serves Octavia's own API, with Octavia's own controller worker in the same process.

Arguments: the configuration file of Octavia, and the directory with the packages. The API and the worker share the
memory transport of oslo.messaging, so no message broker is needed. Prints "listening" when the API accepts requests.
"""
import os
import sys

sys.path.insert(0, os.path.join(sys.argv[2], 'usr/lib/python3/dist-packages'))

from gunicorn.app.base import BaseApplication  # noqa: E402
from oslo_config import cfg  # noqa: E402

from amphora import render_for_haproxy  # noqa: E402

ARGUMENTS = ['octavia', '--config-file', sys.argv[1]]


class Server(BaseApplication):
    """One process with threads: more processes would not share the transport."""

    def load_config(self):
        settings = {
            'bind': os.environ['OCTAVIA_BIND'],
            'workers': 1,
            'worker_class': 'gthread',
            'threads': 16,
            'keepalive': 60,
            'timeout': 0,
            'graceful_timeout': 1,
            'post_worker_init': lambda _: print('listening', flush=True),
        }
        for key, value in settings.items():
            self.cfg.set(key, value)

    def load(self):
        import oslo_messaging
        from octavia.api import app
        from octavia.common import constants, rpc
        from octavia.controller.queue.v2 import endpoints

        application = app.setup_app(argv=ARGUMENTS)
        render_for_haproxy(os.environ['OCTAVIA_AMPHORA'])
        target = oslo_messaging.Target(
            topic=constants.TOPIC_AMPHORA_V2, server=cfg.CONF.host, fanout=False)
        rpc.get_server(target, [endpoints.Endpoints()], executor='threading').start()
        return application


sys.argv = sys.argv[:1]
Server().run()
