"""Gives a load balancer pools, a listener, policies and rules, directly in the database.

For each call below a load balancer, Octavia reads and converts all objects of that load balancer. So thousands of calls, or
one call with thousands of objects, take hours: the time grows with the square of the number. This writes the rows that
such calls leave behind.
"""
from oslo_utils import uuidutils

DONE = {'provisioning_status': 'ACTIVE', 'operating_status': 'ONLINE', 'enabled': True}


def fill(load_balancer, tree):
    """`tree` has the pools and listeners of a load balancer, as in a body of Octavia's API. Pools are named in policies."""
    from octavia.db import api, models

    session = api.get_session()
    try:
        owner = session.query(models.LoadBalancer).filter_by(id=load_balancer).one()
        rows = _rows(load_balancer, owner.project_id, tree)
        with session.begin(subtransactions=True):
            for name in ('Pool', 'Member', 'Listener', 'L7Policy', 'L7Rule'):
                if rows[name]:
                    session.execute(getattr(models, name).__table__.insert(), rows[name])
            if rows['Tags']:
                session.execute(models.base_models.Tags.__table__.insert(), rows['Tags'])
    finally:
        session.close()


def _rows(load_balancer, project, tree):
    rows = {name: [] for name in ('Pool', 'Member', 'Listener', 'L7Policy', 'L7Rule', 'Tags')}

    def add(kind, fields, tags=()):
        row = {'id': uuidutils.generate_uuid(), 'project_id': project, **DONE, **fields}
        rows[kind].append(row)
        rows['Tags'].extend({'resource_id': row['id'], 'tag': tag} for tag in tags)
        return row['id']

    pools = {}
    for pool in tree['pools']:
        pools[pool['name']] = add('Pool', {
            'load_balancer_id': load_balancer, 'name': pool['name'], 'protocol': pool['protocol'],
            'lb_algorithm': pool['lb_algorithm'], 'tls_enabled': False}, pool['tags'])
        for member in pool['members']:
            add('Member', {
                'pool_id': pools[pool['name']], 'ip_address': member['address'], 'backup': False,
                'protocol_port': member['protocol_port'], 'weight': member['weight'], 'name': member['name']})
    for listener in tree['listeners']:
        id = add('Listener', {
            'load_balancer_id': load_balancer, 'default_pool_id': pools[listener['default_pool']['name']],
            'client_authentication': 'NONE', 'connection_limit': -1, 'peer_port': 1025, 'timeout_tcp_inspect': 0,
            **{key: listener[key] for key in (
                'name', 'protocol', 'protocol_port', 'insert_headers', 'timeout_client_data',
                'timeout_member_connect', 'timeout_member_data')}})
        for policy in listener['l7policies']:
            of = add('L7Policy', {
                'listener_id': id, 'action': policy['action'], 'position': policy['position'],
                'redirect_pool_id': pools[policy['redirect_pool']['name']]}, policy['tags'])
            for rule in policy['rules']:
                add('L7Rule', {'l7policy_id': of, 'invert': False, **rule})
    return rows
