"""Plays the part of Octavia's controller worker: finishes what the API has recorded.

Octavia's own worker needs about a second of CPU time for each change, which is long for tests with hundreds of changes.
This one looks at the database and sets the statuses that Octavia's would set. Rows are deleted with Octavia's code.
"""
import os
import threading
import time

# Between two looks at the database, if no call of the API has changed it, and while the worker is held.
IDLE = 1.0
HELD = 0.1
# Parents come after their parts.
KINDS = ('l7rule', 'l7policy', 'health_monitor', 'member', 'pool', 'listener')


def run_worker(hold):
    """Works in a thread. Nothing is done while the file `hold` exists. Call the result after each change."""
    changed = threading.Event()
    threading.Thread(target=_work, args=(hold, changed), daemon=True).start()
    return changed.set


def _work(hold, changed):
    from octavia.db import api, models, repositories

    kinds = {
        'l7rule': (models.L7Rule, repositories.L7RuleRepository()),
        'l7policy': (models.L7Policy, repositories.L7PolicyRepository()),
        'health_monitor': (models.HealthMonitor, repositories.HealthMonitorRepository()),
        'member': (models.Member, repositories.MemberRepository()),
        'pool': (models.Pool, repositories.PoolRepository()),
        'listener': (models.Listener, repositories.ListenerRepository()),
    }
    while True:
        changed.wait(IDLE)
        if os.path.exists(hold):
            time.sleep(HELD)
            continue
        changed.clear()
        session = api.get_session()
        try:
            changing = session.query(models.LoadBalancer.id, models.LoadBalancer.provisioning_status).filter(
                models.LoadBalancer.provisioning_status.like('PENDING%')).all()
            for load_balancer, status in changing:
                gone = status == 'PENDING_DELETE'
                for kind in KINDS:
                    _settle(session, *kinds[kind], kind, load_balancer, gone)
                _set(session, models.LoadBalancer, load_balancer, 'DELETED' if gone else 'ACTIVE')
        except Exception as error:  # The API may write at the same time: the next look finds the rest.
            print('worker: %r' % error, flush=True)
            changed.set()
            time.sleep(HELD)
        finally:
            session.close()


def _settle(session, model, repository, kind, load_balancer, gone):
    found = _of(session, model, kind, load_balancer)
    for id, status in found:
        if gone or status == 'PENDING_DELETE':
            repository.delete(session, id=id)
        elif status.startswith('PENDING'):
            _set(session, model, id, 'ACTIVE')


def _of(session, model, kind, load_balancer):
    from octavia.db import models

    query = session.query(model.id, model.provisioning_status)
    if kind in ('listener', 'pool'):
        return query.filter(model.load_balancer_id == load_balancer).all()
    if kind in ('member', 'health_monitor'):
        return query.join(models.Pool, models.Pool.id == model.pool_id).filter(
            models.Pool.load_balancer_id == load_balancer).all()
    if kind == 'l7rule':
        query = query.join(models.L7Policy, models.L7Policy.id == model.l7policy_id).join(
            models.Listener, models.Listener.id == models.L7Policy.listener_id)
    else:
        query = query.join(models.Listener, models.Listener.id == model.listener_id)
    return query.filter(models.Listener.load_balancer_id == load_balancer).all()


def _set(session, model, id, status):
    with session.begin(subtransactions=True):
        session.query(model).filter(model.id == id).update({'provisioning_status': status})
