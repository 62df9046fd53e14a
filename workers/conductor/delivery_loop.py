"""The loop that sends notices to people and programs, in a thread beside the scheduler's.

Each delivery has a thread of its own; their number is limited, also by team (`benchsite.notifications.deliveries`).
So a slow receiver delays its own notices, and a team with many of them no other team's.
"""

import json
import logging
import threading
import time
import uuid
from typing import Final

from django.db import DatabaseError, InterfaceError, connection, transaction
from django.db.models import TextField
from django.db.models.functions import Cast

from benchsite.accounts import second_factor
from benchsite.accounts.models import Delivery
from benchsite.core.encryption import CLIENT_PROPERTIES, is_current
from benchsite.notifications import deliveries, notices, webhooks
from runs.models import Database
from runs.models.client_properties import SEALED


def encrypt_again() -> int:
    """Encrypts under today's key what was encrypted under a former one; returns how many databases those were."""
    changed = 0
    databases = Database.objects.annotate(text=Cast("binding_properties", TextField()))
    for key, content in databases.filter(text__contains=f'"{SEALED}"').values_list("pk", "text"):
        values = json.loads(content).values()
        tokens = [value[SEALED] for value in values if isinstance(value, dict)]
        if all(is_current(token, CLIENT_PROPERTIES) for token in tokens):
            continue
        with transaction.atomic():
            Database.objects.select_for_update().get(pk=key).save(update_fields=["binding_properties"])
            changed += 1
    return changed


log = logging.getLogger(__name__)
TICK_S: Final = 1.0
EXPIRE_AFTER_S: Final = 3600.0
FIND_AFTER_S: Final = 30.0


class Deliverer:
    """Threads that die with their process: what was being delivered then is delivered by the next one."""

    def __init__(self) -> None:
        self.stopping = threading.Event()
        self.ended = threading.Event()  # An attempt has ended: perhaps its receiver has more to get.
        self.under_way: dict[uuid.UUID, Delivery] = {}  # by the delivery's id
        self.lock = threading.Lock()
        self.expired = self.searched_at = -EXPIRE_AFTER_S
        self.thread = threading.Thread(target=self._serve, name="deliverer", daemon=True)

    def start(self) -> None:
        self.thread.start()

    def stop(self) -> None:
        """Begin nothing more; returns when the loop has ended. What is under way goes on in its own threads."""
        self.stopping.set()
        self.ended.set()  # The loop may be waiting for it.
        self.thread.join()

    def tick(self) -> int:
        """Begin what is due, as far as there is room; answers how many that are."""
        with self.lock:
            under_way = list(self.under_way.values())

        due = deliveries.due(under_way=under_way)
        for delivery in due:
            with self.lock:
                self.under_way[delivery.pk] = delivery
            threading.Thread(target=self._attempt, args=[delivery], name=f"delivery {delivery.pk}", daemon=True).start()

        now = time.monotonic()
        if now - self.expired >= EXPIRE_AFTER_S:
            self.expired = now
            deliveries.expire()
            webhooks.seal_again()
            encrypt_again()
            second_factor.encrypt_again()

        if now - self.searched_at >= FIND_AFTER_S:
            self.searched_at = now
            notices.find()

        return len(due)

    def _serve(self) -> None:
        try:
            while True:
                self.ended.wait(TICK_S)  # no longer than until an attempt ends
                self.ended.clear()
                if self.stopping.is_set():
                    return
                try:
                    self.tick()
                except (DatabaseError, InterfaceError) as error:
                    log.warning("Nothing is delivered (%s); trying again.", str(error).partition("\n")[0])
                    connection.close()
        finally:
            connection.close()

    def _attempt(self, delivery: Delivery) -> None:
        try:
            tried = deliveries.attempt(delivery)
            log.info("Delivery %s: %s %s", delivery.pk, tried.state, tried.error)
        except Exception:
            # Whatever it was, it is tried again when its time comes, and nobody else has to wait for that.
            log.exception("Delivery %s was not finished.", delivery.pk)
        finally:
            connection.close()
            with self.lock:
                self.under_way.pop(delivery.pk, None)
            self.ended.set()
