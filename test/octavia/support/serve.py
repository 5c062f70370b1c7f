"""Serves Octavia's own API, with a controller worker in the same process.

Arguments: the configuration file of Octavia, the address to listen on, and the directory of the test. With the
environment variable OCTAVIA_WORKER=octavia, the worker is Octavia's own; the API and the worker share the memory
transport of oslo.messaging. Otherwise it is that of worker.py. `GET /test/render/ID` returns the configuration of HAProxy
for a load balancer, and `POST /test/fill/ID` is for fill.py. `GET /test/cpu` returns the CPU seconds of the process. Prints "listening" when the API accepts requests.
"""
import json
import os
import sys
import time

from gunicorn.app.base import BaseApplication
from oslo_config import cfg

from amphora import render
from fill import fill
from worker import run_worker

CONFIGURATION, BIND, DIRECTORY = sys.argv[1:]
# Octavia would read the arguments too.
sys.argv = ['octavia']
RENDER = '/test/render/'
FILL = '/test/fill/'
CPU = '/test/cpu'


class Server(BaseApplication):
    """One process with threads: more processes would not share the transport."""

    def load_config(self):
        settings = {
            'bind': BIND,
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
        from octavia.api import app

        octavia = app.setup_app(argv=['octavia', '--config-file', CONFIGURATION])
        if os.environ.get('OCTAVIA_WORKER') == 'octavia':
            start_own_worker()
            notify = lambda: None
        else:
            notify = run_worker(os.path.join(DIRECTORY, 'hold'))

        def application(environ, start_response):
            path = environ.get('PATH_INFO', '')
            if path.startswith(FILL):
                fill(path[len(FILL):], json.loads(environ['wsgi.input'].read(int(environ['CONTENT_LENGTH']))))
                start_response('204 No Content', [])
                return []
            if path == CPU:
                start_response('200 OK', [('Content-Type', 'text/plain')])
                return [b'%f' % time.process_time()]
            if not path.startswith(RENDER):
                response = octavia(environ, start_response)
                if environ.get('REQUEST_METHOD') != 'GET':
                    notify()
                return response
            text = render(path[len(RENDER):], os.path.join(DIRECTORY, 'amphora/certs'))
            start_response('200 OK', [('Content-Type', 'text/plain')])
            return [text.encode()]

        return application


def start_own_worker():
    import oslo_messaging
    from octavia.common import constants, rpc
    from octavia.controller.queue.v2 import endpoints

    target = oslo_messaging.Target(topic=constants.TOPIC_AMPHORA_V2, server=cfg.CONF.host, fanout=False)
    rpc.get_server(target, [endpoints.Endpoints()], executor='threading').start()


Server().run()
