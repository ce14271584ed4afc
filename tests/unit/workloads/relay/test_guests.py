"""Relays in guests of their own, on a machine that bears few."""

from tests.helpers.probed import probed


def test_relays_in_guests_of_their_own_count_as_guests() -> None:
    cells, platforms = probed("matthews2009/relay-across", "hops=2,3")
    refused = {(cell.platform, cell.guests) for cell in cells if cell.key in platforms.refused}
    assert refused == {("kvm-vhost", 3)}
