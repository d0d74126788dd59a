from __future__ import annotations

from tests.web.asgi import MovedClock
from vaultd.web.throttle import FORGET_AFTER_S, FREE_TRIES, LONGEST_WAIT_S, MOST_ADDRESSES, Throttle


def test_waits_double_up_to_the_longest():
    throttle = Throttle(clock=MovedClock())

    waits = [throttle.failed("10.0.0.1") for _ in range(20)]

    assert waits[:FREE_TRIES] == [0.0] * FREE_TRIES
    assert waits[FREE_TRIES : FREE_TRIES + 4] == [1.0, 2.0, 4.0, 8.0]
    assert waits[-1] == LONGEST_WAIT_S


def test_a_wait_ends():
    clock = MovedClock()
    throttle = Throttle(clock=clock)
    for _ in range(FREE_TRIES + 3):
        throttle.failed("10.0.0.1")

    assert throttle.wait_s("10.0.0.1") == 4.0
    clock.forward(3)
    assert throttle.wait_s("10.0.0.1") == 1.0
    clock.forward(1)
    assert throttle.wait_s("10.0.0.1") == 0.0


def test_a_quiet_address_starts_afresh():
    clock = MovedClock()
    throttle = Throttle(clock=clock)
    for _ in range(FREE_TRIES + 1):
        throttle.failed("10.0.0.1")

    clock.forward(FORGET_AFTER_S + 1)

    assert throttle.failed("10.0.0.1") == 0.0


def test_an_ipv6_network_is_one_address():
    throttle = Throttle(clock=MovedClock())
    for number in range(FREE_TRIES + 1):
        throttle.failed(f"2001:db8:1:2::{number:x}")

    assert throttle.wait_s("2001:db8:1:2:ffff::1") > 0.0
    assert throttle.wait_s("2001:db8:1:3::1") == 0.0


def test_memory_is_bounded():
    throttle = Throttle(clock=MovedClock())
    for _ in range(FREE_TRIES + 1):
        throttle.failed("10.0.0.1")

    for number in range(MOST_ADDRESSES - 1):
        throttle.failed(f"10.1.{number // 256}.{number % 256}")
    assert throttle.wait_s("10.0.0.1") > 0.0
    throttle.failed("10.2.0.1")

    assert throttle.wait_s("10.0.0.1") == 0.0
    assert len(throttle._records) == MOST_ADDRESSES


def test_a_request_without_an_address_is_counted_too():
    throttle = Throttle(clock=MovedClock())
    for _ in range(FREE_TRIES + 1):
        throttle.failed(None)

    assert throttle.wait_s(None) > 0.0
    assert throttle.wait_s("a unix socket") == 0.0
